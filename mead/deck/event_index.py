"""Where some events of a file start, so that a replay need not begin at its front.  Pure."""

from bisect import bisect_right
from typing import Final

STEP: Final = 64
"""Events between two that are noted: reading so many to skip them costs less than one yield."""


class EventIndex:
    """Sequence -> offset of the record, for about one event in STEP."""

    __slots__ = ("_offsets", "_sequences")

    def __init__(self) -> None:
        self._sequences: list[int] = []
        self._offsets: list[int] = []

    def note(self, sequence: int, offset: int) -> None:
        """The record of that event starts there."""
        place = bisect_right(self._sequences, sequence)
        if place and sequence - self._sequences[place - 1] < STEP:
            return
        if place < len(self._sequences) and self._sequences[place] - sequence < STEP:
            return
        self._sequences.insert(place, sequence)
        self._offsets.insert(place, offset)

    def before(self, sequence: int) -> int:
        """The offset of an event at or before that one; 0, the front, when none is noted."""
        place = bisect_right(self._sequences, sequence)
        return self._offsets[place - 1] if place else 0
