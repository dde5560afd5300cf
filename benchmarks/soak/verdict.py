"""Whether something grew.  Pure.

Under load each series of samples gets a line by least squares.  What the line rises from the first
sample to the last is the growth; the sessions come and go at one rate, so that anything but noise
is a leak.  At rest, with every conversation deleted, what is counted must be what it was at the
rest before.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

HOUR_S: Final = 3600.0
MEMORY_MIB_AN_HOUR: Final = 4.0
"""An hour has over 40,000 turns: a hundred bytes that each left behind would be as much."""
SETTLING_MIB: Final = 40.0
"""What the allocator may still take in a soak that is too short to have seen its peaks."""
SETTLED_S: Final = 1800.0
"""After so long there is nothing left of that."""
NOISE: Final = 0.25
"""Of the mean of what is counted under load: chance decides how much is open at once."""
NOISE_LEAST: Final = 16.0
COUNTED: Final = ("handles", "threads", "greenlets", "watchers", "children", "connections")
RESTING: Final = {
    "handles": 3,
    "threads": 3,
    "greenlets": 3,
    "watchers": 3,
    "children": 0,
    "sessions": 0,
    "connections": 1,
}
"""How many more there may be at the second rest: a thread of a pool that had not been needed."""
POOLED: Final = ("handles", "threads", "watchers")
POOL: Final = 14
"""How many more of those in a soak that is too short to have needed every thread of the pools."""
OBJECTS_LEAST: Final = 4000
"""Caches that are bounded and not full yet: compiled expressions, type checks, logging."""


class Finding(NamedTuple):
    """One line of the report."""

    name: str
    grew: float
    allowed: float
    unit: str

    @property
    def is_good(self) -> bool:
        """Whether it grew no more than it may."""
        return self.grew <= self.allowed


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The least-squares line's rise for each unit of x; 0 for fewer than two points."""
    count = len(points)
    if count < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def memory_allowed(window_s: float) -> float:
    """MiB by which memory may rise in so many seconds."""
    settling = SETTLING_MIB * max(0.0, 1 - window_s / SETTLED_S)
    return MEMORY_MIB_AN_HOUR * window_s / HOUR_S + settling


def under_load(samples: Sequence[Mapping[str, float]]) -> list[Finding]:
    """How each series rose over the samples."""
    window_s = samples[-1]["at"] - samples[0]["at"]
    findings = [
        Finding(name, _rise(samples, name, window_s), memory_allowed(window_s), "MiB")
        for name in ("uss_mib", "rss_mib")
    ]
    for name in (*COUNTED, "sessions", "disk_mib"):
        mean = sum(each[name] for each in samples) / len(samples)
        allowed = max(NOISE * mean, NOISE_LEAST)
        findings.append(Finding(name, _rise(samples, name, window_s), allowed, ""))
    return findings


def at_rest(
    before: Mapping[str, float], after: Mapping[str, float], window_s: float
) -> list[Finding]:
    """What there is more of at the second rest, so many seconds after the first."""
    short = dict.fromkeys(POOLED, POOL) if window_s < SETTLED_S else {}
    findings = [
        Finding(f"{name} at rest", after[name] - before[name], more, "")
        for name, more in (RESTING | short).items()
    ]
    return [
        *findings,
        Finding("objects at rest", after["objects"] - before["objects"], OBJECTS_LEAST, ""),
    ]


def _rise(samples: Sequence[Mapping[str, float]], name: str, window_s: float) -> float:
    return slope([(each["at"], each[name]) for each in samples]) * window_s
