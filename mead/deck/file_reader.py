"""Reads an event log's file for one socket, at that socket's pace."""

from collections.abc import Callable, Sequence

import orjson

from mead.deck.event_index import EventIndex
from mead.deck.event_log import Overtaken
from mead.errors import CorruptHistory
from mead.storage.record_reader import RecordReader

Place = tuple[RecordReader, EventIndex, int]
"""A reader of the present file, an index of that file, and which file it is."""


class FileEventReader:
    """See EventReader.  Reads one file to its end, then goes on in the one after a compaction."""

    def __init__(self, place: Callable[[int], Place], after: int) -> None:
        """`place` finds the event with that sequence, or one before it."""
        self._place = place
        self._next = after + 1
        self._records, self._index, self._generation = place(self._next)
        self._ahead: list[bytes] = []
        """Events that were read before they were asked for, the next one first."""

    @property
    def position(self) -> int:
        return self._next - 1

    def read(self, upto: int) -> Sequence[bytes]:
        while self._next <= upto:
            if not self._ahead and not self._fetch():
                self._change_file()
                continue
            count = min(len(self._ahead), upto - self._next + 1)
            taken, self._ahead = self._ahead[:count], self._ahead[count:]
            self._next += count
            return taken
        return ()

    def close(self) -> None:
        self._records.close()

    def _fetch(self) -> bool:
        """Read on until there are events from `_next` on; False at the end of the file."""
        while found := self._records.read():
            for offset, record in found:
                sequence = record.get("sequence")
                if sequence is None:
                    continue
                self._index.note(sequence, offset)
                if sequence >= self._next:
                    if not self._ahead and sequence > self._next:
                        raise Overtaken
                    self._ahead.append(orjson.dumps(record))
            if self._ahead:
                return True
        return False

    def _change_file(self) -> None:
        """What was asked for is in the file that a compaction made."""
        self._records.close()
        generation = self._generation
        self._records, self._index, self._generation = self._place(self._next)
        if self._generation == generation:
            raise CorruptHistory("the event log ends before its last event")
