"""What every benchmark prints: the machine, the date, and a line for each figure.

A figure is a ratio of two measurements of one run wherever that is possible, because two runs on a
busy machine cannot be compared.  Nothing here fails a build.
"""

import datetime
import math
import os
import platform
from importlib.metadata import version
from pathlib import Path

MOST_SHOWN = 1000
"""Times; what is more was divided by next to nothing."""


def header(title: str, *packages: str) -> None:
    """The benchmark's name, the date, the machine and the versions that matter."""
    print(f"== {title}", flush=True)
    print(f"   {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, {machine()}")
    print("   " + ", ".join(f"{name} {version(name)}" for name in ("gevent", *packages)))


def machine() -> str:
    """Processor, cores, load and Python, in one line."""
    load = os.getloadavg()[0]
    return (
        f"{_processor()}, {os.cpu_count()} cores (load {load:.1f}), Python"
        f" {platform.python_version()}"
    )


def figure(name: str, value: str, target: str, *, met: bool) -> None:
    """One figure, what it should be, and whether it is."""
    print(f"{'ok  ' if met else 'MISS'} {name}: {value} (target: {target})", flush=True)


def versus(
    name: str, ours: float, theirs: float, unit: str, *, least: float = 0, most: float = 0
) -> None:
    """A figure of ours over the same one of a peer: at least so many times, or at most."""
    ratio = ours / theirs if theirs > 0 else math.inf if ours > 0 else 1.0
    met = ratio >= least if least else ratio <= most
    target = f"at least {least:g} x" if least else f"at most {most:.2g} x"
    times = f"{ratio:.3g} x" if ratio < MOST_SHOWN else f"over {MOST_SHOWN} x"
    figure(name, f"{times} ({_shown(ours)} against {_shown(theirs)} {unit})", target, met=met)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def note(text: str) -> None:
    """Something measured that has no target."""
    print(f"     {text}", flush=True)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
