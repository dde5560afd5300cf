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
        """`place` finds the event with that sequence, or one before it.

        It is asked when that is read: a place in a file that a compaction has replaced is none.
        """
        self._place = place
        self._next = after + 1
        self._found: Place | None = None
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
        if self._found is not None:
            self._found[0].close()

    def _fetch(self) -> bool:
        """Read on until there are events from `_next` on; False at the end of the file."""
        records, index, _ = self._found = self._found or self._place(self._next)
        while found := records.read():
            for offset, record in found:
                sequence = record.get("sequence")
                if sequence is None:
                    continue
                index.note(sequence, offset)
                if sequence >= self._next:
                    if not self._ahead and sequence > self._next:
                        raise Overtaken
                    # Copied: orjson's own bytes keep the buffer that they were made in, 4 KiB.
                    self._ahead.append(bytes(memoryview(orjson.dumps(record))))
            if self._ahead:
                return True
        return False

    def _change_file(self) -> None:
        """What was asked for is in the file that a compaction made."""
        before, self._found = self._found, self._place(self._next)
        if before is None:
            return
        before[0].close()
        if before[2] == self._found[2]:
            raise CorruptHistory("the event log ends before its last event")
