"""Where a conversation's events are kept: in a file, or in memory without a storage directory.

A channel owns a log and appends to it; sockets read it back through readers of their own, each at
its own pace.  Source: SPEC section 8, "Log".
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mead.deck.events import Event
from mead.deck.state import DeckState


class Limits(NamedTuple):
    """More than this and a log is compacted."""

    events: int
    bytes: int


def kept_of(limit: int) -> int:
    """So much a compaction leaves; if it left the limit, each turn would bring the next."""
    return limit * 4 // 5


class Overtaken(Exception):
    """A reader was so slow that the events it needs next were let go meanwhile."""


class EventReader(Protocol):
    """A place in a log, for one socket's replay."""

    @property
    def position(self) -> int:
        """The sequence of the last event that it gave, or would not give."""
        ...

    def read(self, upto: int) -> Sequence[bytes]:
        """The next events as they are sent, none beyond the sequence `upto`.

        Empty when there are no more, and then it did not wait.  Raises Overtaken, CorruptHistory,
        PersistenceError.  Blocks on: disk.
        """
        ...

    def close(self) -> None:
        """Never raises.  Blocks on: nothing."""
        ...


class EventLog(Protocol):
    """The events of one conversation."""

    @property
    def log_id(self) -> str:
        """Changes only when the log is new or lost events at its end."""
        ...

    @property
    def durable(self) -> bool:
        """Whether it outlives the process."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether it has more bytes than its limit, and `compact` could not help that."""
        ...

    def append(self, events: Sequence[Event], *, sync: bool) -> Sequence[bytes]:
        """Keep them, in one write; with `sync` under `storage.fsync = "turn"` they are on the disk.

        Answers each as it is sent.  Raises PersistenceError; the log takes nothing more then.
        Blocks on: disk.
        """
        ...

    def compact(self, state: DeckState) -> None:
        """Let go of old events if a limit is passed, and tell `state`.

        Never raises.  Blocks on: disk.
        """
        ...

    def reader(self, after: int) -> EventReader:
        """Reads the events beyond the sequence `after`, also those that are still to come."""
        ...

    def close(self) -> None:
        """Never raises.  Blocks on: disk."""
        ...
