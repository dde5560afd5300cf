"""What the players found: how many answers of each kind, and every one that was wrong."""

from collections import Counter
from collections.abc import Container

KEPT = 20


class Tally:
    """Counts and the first wrong answers."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.wrong_count = 0
        self.wrong: list[str] = []

    def is_equal(self, kind: str, found: object, expected: object) -> None:
        """The answer is that one."""
        self._count(kind, found == expected, f"{found!r:.200} instead of {expected!r:.200}")

    def is_in(self, kind: str, found: object, allowed: Container[object]) -> None:
        """The answer is one of those."""
        self._count(kind, found in allowed, f"{found!r:.200} is none of {allowed!r:.200}")

    def begins(self, kind: str, found: str, *beginnings: str) -> None:
        """The answer begins with one of those."""
        self._count(kind, found.startswith(beginnings), f"{found!r:.200}, not {beginnings!r:.200}")

    def fault(self, kind: str, what: str) -> None:
        """Something that nobody expected."""
        self._count(kind, False, what)

    def _count(self, kind: str, is_right: bool, what: str) -> None:
        if is_right:
            self.right[kind] += 1
            return
        self.wrong_count += 1
        if len(self.wrong) < KEPT:
            self.wrong.append(f"{kind}: {what}")
