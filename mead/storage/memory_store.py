"""Conversations without a storage directory: nothing outlives the process.

The same Protocols as the files', so that sessions know no difference: a crashed History still finds
its turns, because the log outlives it.
"""

from collections.abc import Iterator, Sequence

from mead.errors import SessionNotFound
from mead.protocols import RepairReport, StoredSession, TurnEvent
from mead.storage.turn_events import apply_event
from mead.turn import Turn


class MemoryTurnLog:
    """One conversation's turns, while its session runs."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def replay(self) -> list[Turn]:
        return list(self._turns)

    def write(self, event: TurnEvent) -> bool:
        """Keep it.  Never durable."""
        apply_event(self._turns, event, durable=False)
        return False

    def compact(self, turns: Sequence[Turn]) -> tuple[int, int]:
        self._turns = list(turns)
        return 0, 0

    def wants_compaction(self) -> bool:
        return False

    def close(self) -> None:
        self._turns = []


class MemoryStore:
    """Hands out logs in memory; nothing is ever stored."""

    def create(self, session_id: str) -> MemoryTurnLog:
        del session_id
        return MemoryTurnLog()

    def open(self, session_id: str) -> MemoryTurnLog:
        raise SessionNotFound

    def load(self, session_id: str) -> list[Turn]:
        raise SessionNotFound

    def delete(self, session_id: str) -> bool:
        del session_id
        return False

    def entries(self) -> Iterator[StoredSession]:
        return iter(())

    def repair(self, session_id: str) -> RepairReport:
        raise SessionNotFound
