"""What is kept: stored conversations, and what they cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from mead.turn import Turn


@dataclass(frozen=True, slots=True)
class TurnAppended:
    """A turn started."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class TurnReplaced:
    """The newest turn was closed."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class TurnsInterrupted:
    """Turns that were still running became interrupted, at this time."""

    at: datetime


TurnEvent = TurnAppended | TurnReplaced | TurnsInterrupted


class TurnLog(Protocol):
    """One conversation in the store; used by its History alone.  Source: seed A8."""

    def replay(self) -> list[Turn]:
        """The turns as the events so far make them.  Raises CorruptHistory, PersistenceError."""
        ...

    def write(self, event: TurnEvent) -> bool:
        """Record it; whether it is as durable as `storage.fsync` promises.

        Raises PersistenceError: an opening is then not recorded; a closing, whose answer is out
        already, stays in this log's memory and is written with the next event.  Blocks on: disk.
        """
        ...

    def compact(self, turns: Sequence[Turn]) -> tuple[int, int]:
        """Rewrite as exactly these turns; bytes before and after.  Raises PersistenceError."""
        ...

    def wants_compaction(self) -> bool:
        """Whether the file has outgrown `storage.compact_after_bytes` and its last compaction."""
        ...

    def close(self) -> None:
        """Let go of the file, soon.  Never raises.  Blocks on: nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """One row of `list_sessions`."""

    session_id: str
    updated_at: datetime
    running: bool = False
    title: str | None = None
    """Its name, if it has one; a store does not know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What became of a damaged conversation."""

    damage: str | None
    """What was wrong; None when there was nothing to repair and nothing was done."""
    turns: int
    """Turns that are readable, and now in place."""
    bytes_before: int
    """Size of the old file, all of which is kept beside the new one."""
    bytes_after: int


class SessionStore(Protocol):
    """The stored conversations.  A database could take the files' place.  Source: seed A8."""

    def create(self, session_id: str) -> TurnLog:
        """A new, empty log.  Raises PersistenceError."""
        ...

    def open(self, session_id: str) -> TurnLog:
        """The log of a stored conversation, its torn tail cut.

        Raises SessionNotFound, CorruptHistory, PersistenceError.  Blocks on: disk.
        """
        ...

    def load(self, session_id: str) -> list[Turn]:
        """The turns of a stopped conversation; changes nothing.  Raises as `open`."""
        ...

    def delete(self, session_id: str) -> bool:
        """Remove every file of the id; whether there was one.  Raises PersistenceError."""
        ...

    def entries(self) -> Iterator[StoredSession]:
        """The stored conversations, newest first, from names and times alone.

        Raises PersistenceError.
        """
        ...

    def repair(self, session_id: str) -> RepairReport:
        """Make a damaged conversation usable: its valid beginning in place, the old file kept.

        Raises SessionNotFound, AlreadyRunning, PersistenceError.  Blocks on: disk.
        """
        ...


class UsageLedger(Protocol):
    """What the providers were sent and what came back, counted.  Source: seed A5.

    Called from any greenlet; the readers never wait for the disk.
    """

    def usage(self, recent: int) -> dict[str, Any]:
        """`totals`, `routes` (per route, provider and model), `days`, `recent` (newest first)."""
        ...

    def session_usage(self, session_id: str) -> dict[str, Any]:
        """The totals of one session.  Raises SessionNotFound when nothing was counted for it."""
        ...

    def forget(self, session_id: str) -> None:
        """Drop the row of a deleted session; the other totals keep what it added."""
        ...
