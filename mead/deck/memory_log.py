"""The event log without a storage directory: bounded, and gone with the process.

When a limit is passed, the oldest whole turns go.  Of a running turn that is longer by itself the
oldest deltas are kept as one text, and taken apart again when they are read: a device is sent each
of them under its own sequence, so it need not know.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import orjson

from mead.deck.builders import DELTA_BYTES
from mead.deck.event_log import Limits, Overtaken, kept_of
from mead.deck.events import Event, EventType
from mead.deck.state import DeckState
from mead.ids import new_uuid
from mead.turn import iso_ms

READ_EVENTS: Final = 64
"""Given to a replay at once, about."""

ENTRY_BYTES: Final = 160
"""What an entry takes beside its data (measured: 146), so that small events count too."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


@dataclass(slots=True)
class _Deltas:
    """What is left of each delta that was joined."""

    lengths: "array[int]"
    """Its characters."""
    times: "array[int]"
    """Its `at`, in milliseconds since 1970."""


_DELTA_BYTES: Final = array("I").itemsize + array("q").itemsize


@dataclass(slots=True)
class _Entry:
    """One event, or deltas that were joined into it."""

    sequence: int
    type: EventType
    turn_id: str
    """Of a delta; otherwise empty."""
    data: bytes
    """As it is sent; of joined deltas the text alone."""
    deltas: _Deltas | None = None

    @classmethod
    def of(cls, event: Event) -> "_Entry":
        turn_id = event.payload["turn_id"] if event.type == "text.delta" else ""
        # Copied: orjson's own bytes keep the buffer that they were made in, 4 KiB and more.
        data = bytes(memoryview(event.encode()))
        return cls(event.sequence, event.type, turn_id, data)

    @property
    def first(self) -> int:
        """The sequence of the first event that it stands for."""
        return (
            self.sequence if self.deltas is None else self.sequence - len(self.deltas.lengths) + 1
        )

    @property
    def size(self) -> int:
        """The bytes of memory that it takes, about."""
        deltas = self.deltas
        parts = 0 if deltas is None else len(deltas.lengths) * _DELTA_BYTES
        return ENTRY_BYTES + len(self.data) + parts

    def beyond(self, sequence: int) -> list[bytes]:
        """The events that it stands for, from that sequence on, as they are sent."""
        if self.deltas is None:
            return [self.data]
        found: list[bytes] = []
        text, at = self.data.decode(), 0
        for place, length in enumerate(self.deltas.lengths, start=self.first):
            if place >= sequence:
                part = {"turn_id": self.turn_id, "text": text[at : at + length]}
                time = iso_ms(_EPOCH + self.deltas.times[place - self.first] * _MS)
                found.append(Event("text.delta", place, time, part).encode())
            at += length
        return found


class _Place(NamedTuple):
    """A prompt.accepted before which the log may be cut, and what would be left."""

    sequence: int
    entries: int
    bytes: int


class MemoryEventLog:
    """See EventLog."""

    def __init__(self, limits: Limits) -> None:
        self.durable = False
        self.log_id = new_uuid()
        self.entries: list[_Entry] = []
        """Replaced, not changed, when something is let go: a reader goes on in the old list."""
        self.size = 0
        """The bytes of memory that the entries take, about."""
        self._limits = limits
        self._look_at = limits
        self._newest_prompt = 0

    @property
    def is_full(self) -> bool:
        return self.size > self._limits.bytes

    def append(self, events: Sequence[Event], *, sync: bool) -> Sequence[bytes]:
        del sync
        added = [_Entry.of(event) for event in events]
        for entry in added:
            self.entries.append(entry)
            self.size += entry.size
            if entry.type == "prompt.accepted":
                self._newest_prompt = entry.sequence
        return [entry.data for entry in added]

    def compact(self, state: DeckState) -> None:
        if not self._is_due(state):
            return
        first = self._cut(state)
        if first > state.first_sequence:
            self._keep(self.entries[self._place(first) :])
            state.forget_before(first)
        if self._exceeds(self._limits) and state.turn is not None:
            self._keep(list(_joined(self.entries)))
        # What could not be made shorter is not looked at again with each event.
        events, size = self._limits
        self._look_at = Limits(
            max(events, len(self.entries) + events // 10), max(size, self.size + size // 10)
        )

    def reader(self, after: int) -> "MemoryEventReader":
        return MemoryEventReader(self, after)

    def close(self) -> None:
        self._keep([])

    def _is_due(self, state: DeckState) -> bool:
        """Whether a limit is passed, and it is certain or worth a look that this can be helped."""
        if not self._exceeds(self._limits):
            return False
        newest = state.quiet[-1] if state.quiet else 0
        surely = self._newest_prompt if state.is_idle else newest
        return surely > state.first_sequence or self._exceeds(self._look_at)

    def _exceeds(self, limits: Limits) -> bool:
        return len(self.entries) > limits.events or self.size > limits.bytes

    def _keep(self, entries: list[_Entry]) -> None:
        self.entries = entries
        self.size = sum(entry.size for entry in entries)

    def _place(self, sequence: int) -> int:
        return bisect_left(self.entries, sequence, key=lambda entry: entry.sequence)

    def _cut(self, state: DeckState) -> int:
        """The prompt.accepted before which the log is cut."""
        needed = _oldest_needed(state)
        allowed = [each for each in self._prompts() if needed is None or each.sequence <= needed]
        if not allowed:
            return state.first_sequence
        quiet = set(state.quiet)
        events, size = map(kept_of, self._limits)
        for candidates in ([each for each in allowed if each.sequence in quiet], allowed):
            for each in candidates:
                if each.entries <= events and each.bytes <= size:
                    return each.sequence
        return allowed[-1].sequence

    def _prompts(self) -> list[_Place]:
        """Where a prompt was accepted, in order."""
        found: list[_Place] = []
        size = 0
        for count, entry in enumerate(reversed(self.entries), start=1):
            size += entry.size
            if entry.type == "prompt.accepted":
                found.append(_Place(entry.sequence, count, size))
        return found[::-1]


class MemoryEventReader:
    """See EventReader."""

    def __init__(self, log: MemoryEventLog, after: int) -> None:
        self._log = log
        self._next = after + 1
        self._entries: list[_Entry] = []
        self._place = 0

    @property
    def position(self) -> int:
        return self._next - 1

    def read(self, upto: int) -> Sequence[bytes]:
        found: list[bytes] = []
        while self._next <= upto and len(found) < READ_EVENTS:
            if self._place >= len(self._entries):
                self._entries = self._log.entries
                self._place = bisect_left(self._entries, self._next, key=lambda e: e.sequence)
            entry = self._entries[self._place]
            if entry.first > self._next:
                raise Overtaken
            found += entry.beyond(self._next)
            self._next = entry.sequence + 1
            self._place += 1
        return found

    def close(self) -> None:
        self._entries = []


def _oldest_needed(state: DeckState) -> int | None:
    """Where the prompt was accepted that runs, or else the first that waits."""
    known = [state.known.get(each.client_message_id) for each in state.open_prompts]
    # Nothing is cut while it is not known where an open prompt stands.
    places = [state.first_sequence if each is None else each.accepted for each in known]
    return min(places, default=None)


def _joined(entries: Sequence[_Entry]) -> Iterator[_Entry]:
    """The entries, with deltas that follow each other made one, as long as a delta may be."""
    held: list[_Said] = []
    size = 0
    for entry in entries:
        more = _said(entry) if entry.type == "text.delta" else None
        if held and (more is None or not _fits(held[0], size, more)):
            yield _join(held)
            held, size = [], 0
        if more is None:
            yield entry
        else:
            held.append(more)
            size += len(more.text)
    if held:
        yield _join(held)


class _Said(NamedTuple):
    """The text of an entry, and the deltas that it came in."""

    entry: _Entry
    text: bytes
    deltas: _Deltas


def _said(entry: _Entry) -> _Said:
    if entry.deltas is not None:
        return _Said(entry, entry.data, entry.deltas)
    event = orjson.loads(entry.data)
    text = event["payload"]["text"]
    at_ms = (datetime.fromisoformat(event["at"]) - _EPOCH) // _MS
    return _Said(entry, text.encode(), _Deltas(array("I", [len(text)]), array("q", [at_ms])))


def _fits(first: _Said, size: int, more: _Said) -> bool:
    return size + len(more.text) <= DELTA_BYTES and first.entry.turn_id == more.entry.turn_id


def _join(parts: Sequence[_Said]) -> _Entry:
    last = parts[-1].entry
    if len(parts) == 1:
        return last
    deltas = _Deltas(array("I"), array("q"))
    for part in parts:
        deltas.lengths.extend(part.deltas.lengths)
        deltas.times.extend(part.deltas.times)
    text = b"".join(part.text for part in parts)
    return _Entry(last.sequence, "text.delta", last.turn_id, text, deltas)
