"""The event log without a storage directory: bounded, and gone with the process.

When there are more events than the limit, the oldest whole turns go.  Of a running turn that is
longer by itself the oldest deltas are kept as one text, and taken apart again when they are read:
a device is sent each of them under its own sequence, so it need not know.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from mead.deck.builders import DELTA_BYTES
from mead.deck.event_log import Overtaken, kept_of
from mead.deck.events import Event
from mead.deck.state import DeckState
from mead.ids import new_uuid
from mead.turn import iso_ms

READ_EVENTS: Final = 64
"""Given to a replay at once, about."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


@dataclass(slots=True)
class _Deltas:
    """What is left of each delta that was joined."""

    lengths: "array[int]"
    """Its characters."""
    times: "array[int]"
    """Its `at`, in milliseconds since 1970."""


@dataclass(slots=True)
class _Entry:
    """One event, or deltas that were joined into it."""

    event: Event
    data: bytes
    deltas: _Deltas | None = None

    @property
    def sequence(self) -> int:
        return self.event.sequence

    @property
    def first(self) -> int:
        """The sequence of the first event that it stands for."""
        return (
            self.sequence if self.deltas is None else self.sequence - len(self.deltas.lengths) + 1
        )

    def beyond(self, sequence: int) -> list[bytes]:
        """The events that it stands for, from that sequence on, as they are sent."""
        if self.deltas is None:
            return [self.data]
        found: list[bytes] = []
        payload, at = self.event.payload, 0
        for place, length in enumerate(self.deltas.lengths, start=self.first):
            if place >= sequence:
                part = {"turn_id": payload["turn_id"], "text": payload["text"][at : at + length]}
                time = iso_ms(_EPOCH + self.deltas.times[place - self.first] * _MS)
                found.append(Event("text.delta", place, time, part).encode())
            at += length
        return found


class MemoryEventLog:
    """See EventLog."""

    def __init__(self, limit: int) -> None:
        self.durable = False
        self.log_id = new_uuid()
        self.entries: list[_Entry] = []
        """Replaced, not changed, when something is let go: a reader goes on in the old list."""
        self._limit = limit
        self._look_at = limit

    def append(self, events: Sequence[Event], *, sync: bool) -> None:
        del sync
        self.entries += [_Entry(event, event.encode()) for event in events]

    def compact(self, state: DeckState) -> None:
        if len(self.entries) <= self._look_at:
            return
        first = self._cut(state)
        if first > state.first_sequence:
            self.entries = self.entries[self._place(first) :]
            state.forget_before(first)
        if len(self.entries) > self._limit and state.turn is not None:
            self.entries = list(_joined(self.entries))
        # What could not be made shorter is not looked at again with each event.
        self._look_at = max(self._limit, len(self.entries) + self._limit // 10)

    def reader(self, after: int) -> "MemoryEventReader":
        return MemoryEventReader(self, after)

    def close(self) -> None:
        self.entries = []

    def _place(self, sequence: int) -> int:
        return bisect_left(self.entries, sequence, key=lambda entry: entry.sequence)

    def _cut(self, state: DeckState) -> int:
        """The prompt.accepted before which the log is cut."""
        accepted = [e.sequence for e in self.entries if e.event.type == "prompt.accepted"]
        needed = _oldest_needed(state)
        allowed = [each for each in accepted if needed is None or each <= needed]
        if not allowed:
            return state.first_sequence
        quiet, maximum = set(state.quiet), kept_of(self._limit)
        for candidates in ([each for each in allowed if each in quiet], allowed):
            for each in candidates:
                if len(self.entries) - self._place(each) <= maximum:
                    return each
        return allowed[-1]


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
    held: list[_Entry] = []
    size = 0
    for entry in entries:
        more = _delta_bytes(entry)
        if held and (more is None or size + more > DELTA_BYTES or not _same_turn(held[0], entry)):
            yield _join(held)
            held, size = [], 0
        if more is None:
            yield entry
        else:
            held.append(entry)
            size += more
    if held:
        yield _join(held)


def _delta_bytes(entry: _Entry) -> int | None:
    event = entry.event
    return len(event.payload["text"].encode()) if event.type == "text.delta" else None


def _same_turn(left: _Entry, right: _Entry) -> bool:
    return bool(left.event.payload["turn_id"] == right.event.payload["turn_id"])


def _join(entries: Sequence[_Entry]) -> _Entry:
    if len(entries) == 1:
        return entries[0]
    deltas = _Deltas(array("I"), array("q"))
    for entry in entries:
        known = entry.deltas or _delta_of(entry.event)
        deltas.lengths.extend(known.lengths)
        deltas.times.extend(known.times)
    last = entries[-1].event
    text = "".join(entry.event.payload["text"] for entry in entries)
    event = last._replace(payload={"turn_id": last.payload["turn_id"], "text": text})
    return _Entry(event, b"", deltas)


def _delta_of(event: Event) -> _Deltas:
    at_ms = (datetime.fromisoformat(event.at) - _EPOCH) // _MS
    return _Deltas(array("I", [len(event.payload["text"])]), array("q", [at_ms]))
