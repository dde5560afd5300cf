"""The event log without a storage directory: bounded, and gone with the process.

When there are more events than the limit, the oldest whole turns go.  A running turn that is longer
by itself has its oldest deltas joined: one text.delta then stands for several, and says so with
`first_sequence`, the sequence of the first of them; its own sequence is that of the last.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mead.deck.builders import DELTA_BYTES
from mead.deck.event_log import Overtaken
from mead.deck.events import Event
from mead.deck.state import DeckState
from mead.ids import new_uuid

READ_EVENTS: Final = 64
"""Given to a replay at once."""


@dataclass(slots=True)
class _Entry:
    """One event, or deltas that were joined."""

    event: Event
    data: bytes
    lengths: "array[int] | None" = None
    """The characters of each delta that was joined."""

    @property
    def sequence(self) -> int:
        return self.event.sequence

    @property
    def first(self) -> int:
        """The sequence of the first event that it stands for."""
        return self.sequence if self.lengths is None else self.sequence - len(self.lengths) + 1

    def beyond(self, sequence: int) -> bytes:
        """The event as a client is sent it that has everything before `sequence`."""
        if self.lengths is None or sequence <= self.first:
            return self.data
        seen = sequence - self.first
        text = self.event.payload["text"][sum(self.lengths[:seen]) :]
        return _delta(self.event, text, len(self.lengths) - seen).encode()


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
        quiet = set(state.quiet)
        for candidates in ([each for each in allowed if each in quiet], allowed):
            for each in candidates:
                if len(self.entries) - self._place(each) <= self._limit:
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
            found.append(entry.beyond(self._next))
            self._next = entry.sequence + 1
            self._place += 1
        return found

    def close(self) -> None:
        self._entries = []


def _oldest_needed(state: DeckState) -> int | None:
    """Where the prompt was accepted that runs, or else the first that waits."""
    prompts = [] if state.turn is None else [state.turn.prompt]
    prompts += state.queue.values()
    known = [state.known[each.client_message_id].accepted for each in prompts]
    return min(known, default=None)


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
    lengths = array("I")
    for entry in entries:
        lengths.extend(entry.lengths or [len(entry.event.payload["text"])])
    text = "".join(entry.event.payload["text"] for entry in entries)
    event = _delta(entries[-1].event, text, len(lengths))
    return _Entry(event, event.encode(), lengths)


def _delta(last: Event, text: str, count: int) -> Event:
    """A delta that stands for `count` of them, of which `last` is the last."""
    payload: dict[str, Any] = {"turn_id": last.payload["turn_id"], "text": text}
    if count > 1:
        payload["first_sequence"] = last.sequence - count + 1
    return last._replace(payload=payload)
