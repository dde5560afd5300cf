"""What an event log's file says, as its records are read one after another.  Pure.

`mead.deck.file_log` has the records.
"""

from datetime import datetime
from typing import Any

from mead.deck.events import Event
from mead.deck.fold import apply
from mead.deck.state import DeckState
from mead.errors import CorruptHistory


class Contents:
    """The state that the records come to, and whether their end may be missing."""

    def __init__(self) -> None:
        self.state = DeckState()
        self.log_id: str | None = None
        self.events = 0
        self._boot = ""
        self._is_closed = False

    def take(self, record: Any) -> None:
        """The next record.  Raises CorruptHistory when it cannot follow the ones before."""
        try:
            if "type" in record:
                self._event(record)
            elif "opened" in record:
                self._opened(record["opened"])
            elif "closed" in record:
                self._is_closed = True
            else:
                self._head(record["head"])
        except (KeyError, TypeError, ValueError):
            raise CorruptHistory("the event log holds what cannot stand there") from None

    def lost_its_end(self, boot: str) -> bool:
        """Whether clients may have seen events that are not in the file any more."""
        return not self._is_closed and (not boot or self._boot != boot)

    def _event(self, record: Any) -> None:
        if self.log_id is None:
            raise ValueError("an event before the head")
        event = Event.decode(record)
        _check(event)
        apply(self.state, event)
        self.events += 1
        self._is_closed = False

    def _opened(self, opened: Any) -> None:
        self.log_id, self._boot = opened["log_id"], opened["boot"]
        self._is_closed = False

    def _head(self, head: Any) -> None:
        if self.log_id is not None:
            raise ValueError("a second head")
        self.log_id, self._boot = head["log_id"], head["boot"]
        self.state = DeckState.restored(head["kept"], head["first_sequence"])


def _check(event: Event) -> None:
    """What the fold takes unseen and recovery relies on.  Raises TypeError, ValueError."""
    if datetime.fromisoformat(event.at).tzinfo is None:
        raise ValueError("a time without its zone")
    if not isinstance(event.payload.get("text", ""), str):
        raise TypeError("a text that is none")
