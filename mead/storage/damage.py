"""Reads a log's bytes and decides what damage means.  Pure: fed chunk by chunk, it does no I/O.

Theory of operation.  A log is read record by record from its front.  The first record that is not
whole ends the valid prefix, at offset X.  What follows may be what a crash leaves (a torn tail,
which is cut) or damage to what was already safe (corrupt, which is refused).  Every record names
the offset known to be on the disk when it was written; let S be the highest offset that any valid
record names, also one that lies after X.

- X >= S: nobody was promised what starts at X.  A cut write, zeros from an extended file, pages
  that reached the disk out of order: all of them lie here, whatever follows them.  It is cut.
- X < S: the disk had it and lost it.  It is corrupt.

A record names no offset beyond its own, so X < S is only possible when a valid record starts after
X.  The rule therefore covers every case of the torn tail: fewer than 12 bytes left, a header that
holds and runs past the end, zeros, a last record whose payload fails its checksum.

A record that is whole but in the wrong place is never a crash: a sequence number that is not the
next one (a gap, a duplicate, a splice), a synced offset that is no earlier record's end (a splice
from another file), a payload of another format.  It is corrupt wherever it stands.
Source: seed A8, Reading and damage.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mead.storage.records import (
    HEADER_BYTES,
    ForeignPayload,
    decode_payload,
    find_record,
    record_end,
    split_frames,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a log's bytes are worth."""

    size: int
    """All bytes that were read."""
    valid: int
    """Bytes of the valid prefix; the log ends here once it is cut."""
    records: int
    synced: int
    """The highest synced offset that a record of the valid prefix names."""
    fault: str | None = None
    """What is wrong at `valid`; None when the prefix is the whole log."""
    corrupt: bool = False
    """Whether the fault is damage, and not the torn tail of a crash."""

    @property
    def cut(self) -> int:
        """Bytes that follow the valid prefix."""
        return self.size - self.valid


class Misplaced(ValueError):
    """A whole record that does not belong where it stands."""


class Scanner:
    """Takes a log's bytes in order; shows the events of the valid prefix, then the Verdict."""

    def __init__(self, on_event: Callable[[Any], None]) -> None:
        """`on_event` gets each event as soon as it is read, so that nobody need keep them all."""
        self._on_event = on_event
        self._rest: bytes = b""
        self._size = 0
        self._valid = 0
        self._records = 0
        self._synced = 0
        self._ends: deque[int] = deque([0])
        """Ends of records that a later record may still name as synced."""
        self._fault: str | None = None
        self._corrupt = False
        self._search: _Search | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.  Raises what `on_event` raises."""
        self._size += len(chunk)
        if self._corrupt:
            return
        if self._search is not None:
            self._search.feed(chunk)
            return
        data = self._rest + chunk if self._rest else chunk
        used = self._read(data)
        self._valid += used
        self._rest = data[used:]
        if self._fault is not None and not self._corrupt:
            self._search = _Search(self._valid)
            self._search.feed(self._rest)
            self._rest = b""

    def finish(self) -> Verdict:
        """What all the bytes are worth.  Call once, after the last `feed`."""
        if self._fault is None and self._rest:
            self._fault = "a record cut short"
            self._search = _Search(self._valid)
            self._search.feed(self._rest)
        if self._search is not None:
            self._corrupt = self._search.names_beyond()
        return Verdict(
            size=self._size,
            valid=self._valid,
            records=self._records,
            synced=self._synced,
            fault=self._fault,
            corrupt=self._corrupt,
        )

    def _read(self, data: bytes) -> int:
        """Show the events of the whole records at the front of `data`; the bytes these take."""
        frames = split_frames(data)
        self._fault = frames.fault
        at, show = 0, self._on_event
        try:
            for payload in frames.payloads:
                sequence, synced, event = decode_payload(payload)
                end = at + HEADER_BYTES + len(payload)
                self._place(sequence, synced, self._valid + end)
                at = end
                show(event)
        except (ForeignPayload, Misplaced) as error:
            self._fault = str(error)
            self._corrupt = True
        return at

    def _place(self, sequence: int, synced: int, end: int) -> None:
        """Accept the record that ends at `end`.  Raises Misplaced."""
        if sequence != self._records + 1:
            raise Misplaced(f"sequence {sequence} where {self._records + 1} was due")
        ends = self._ends
        if synced != ends[0]:
            while len(ends) > 1 and ends[0] < synced:
                ends.popleft()
            if ends[0] != synced:
                raise Misplaced(f"a synced offset ({synced}) that is no record's end")
        ends.append(end)
        self._records = sequence
        self._synced = synced


_MARK_BYTES: Final = HEADER_BYTES + 4
"""The longest piece at the end of the data in which `find_record` cannot yet see a record start."""


class _Search:
    """Looks behind an invalid record for a valid one that shows it had been synced."""

    def __init__(self, invalid_at: int) -> None:
        self._invalid_at = invalid_at
        self._data: bytes = b""
        self._from = 1
        """The invalid record itself is not looked at again."""
        self._found = False

    def feed(self, chunk: bytes) -> None:
        """Look through `chunk`, holding back what may continue in the next one."""
        if not self._found:
            self._data += chunk
            self._look(final=False)

    def names_beyond(self) -> bool:
        """Whether a valid record names an offset beyond the invalid one.  Call once, at the end."""
        if not self._found:
            self._look(final=True)
        return self._found

    def _look(self, *, final: bool) -> None:
        data, at = self._data, self._from
        while not self._found and (start := find_record(data, at)) >= 0:
            end = record_end(data, start)
            if end is not None:
                if end <= len(data):
                    self._found = self._beyond(data[start:end])
                elif not final:
                    at = start
                    break
            at = start + 1
        else:
            at = max(at, len(data) - _MARK_BYTES)
        self._data, self._from = data[at:], 0

    def _beyond(self, candidate: bytes) -> bool:
        try:
            payload, *_ = split_frames(candidate).payloads or (b"",)
            _, synced, _ = decode_payload(payload)
            return synced > self._invalid_at
        except ForeignPayload:
            return False
