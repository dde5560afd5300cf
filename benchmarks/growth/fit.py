"""The exponent of a cost: 0 is constant, 1 is linear.  Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

CONSTANT: Final = 0.0
LINEAR: Final = 1.0
TOLERANCE: Final = 0.15
"""What noise may add to the exponent."""
LAST_TOLERANCE: Final = 0.3
"""And to that of the last two sizes: a factor of two over a decade, which is what a processor's
caches and the garbage collector's longer walks cost; a square would be a factor of ten."""


@dataclass
class Curve:
    """One cost at several sizes."""

    name: str
    unit: str
    order: float
    """The exponent it may have: CONSTANT or LINEAR."""
    points: list[tuple[int, float]] = field(default_factory=list)
    """Size and cost; a cost is above zero."""

    def add(self, size: int, cost: float) -> None:
        """What it costs at that size."""
        self.points.append((size, cost))

    @property
    def exponent(self) -> float:
        """The slope of the least-squares line through the logarithms."""
        return slope(self.points)

    @property
    def last(self) -> float:
        """The slope of the last two points: what is small at first may still win in the end."""
        return slope(self.points[-2:])

    @property
    def is_good(self) -> bool:
        """Whether neither is more than it may be."""
        return self.exponent <= self.order + TOLERANCE and self.last <= self.order + LAST_TOLERANCE

    def __str__(self) -> str:
        costs = ", ".join(f"{size:,}: {_short(cost)}" for size, cost in self.points)
        return f"{self.exponent:+.2f}, last {self.last:+.2f} ({self.unit}: {costs})"


def slope(points: Sequence[tuple[int, float]]) -> float:
    """Of log cost over log size; 0 for fewer than two points."""
    pairs = [(math.log10(size), math.log10(cost)) for size, cost in points]
    if len(pairs) < 2:
        return 0.0
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    spread = sum((x - mean_x) ** 2 for x, _ in pairs)
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread


def _short(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 else f"{cost:.3g}"
