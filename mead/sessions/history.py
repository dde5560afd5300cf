"""The history of one conversation: an actor that owns its turns and their log.  Source: seed A8."""

import logging
from typing import Any, NamedTuple

from mead.actors.actor import Actor, Reply
from mead.actors.exits import Exit
from mead.errors import CorruptHistory, InvalidInput, PersistenceError
from mead.protocols import TurnAppended, TurnLog, TurnReplaced, TurnsInterrupted
from mead.turn import Turn, TurnStatus, utc_now

log = logging.getLogger(__name__)


class Append(NamedTuple):
    """Record a turn that starts.  Answers the turns before it; raises PersistenceError.

    Write-first: a turn that cannot be recorded is refused, and memory is left untouched.
    """

    turn: Turn
    id_may_be_known: bool
    """Whether the caller chose the turn's id, so that it could be one of an earlier turn."""


class Close(NamedTuple):
    """Record how the newest turn ended.  Answers the turn, `durable` as it turned out.

    Memory first: the caller already holds the answer, so a disk that refuses costs durability only.
    """

    turn: Turn


class Interrupt(NamedTuple):
    """Mark turns that are still running as interrupted.  Answers None."""


class Read(NamedTuple):
    """Answers the turns, oldest first."""


class Compact(NamedTuple):
    """Rewrite the log as one record a turn.  Answers (bytes before, bytes after)."""


class History(Actor):
    """Keeps the turns of one conversation, in memory and in its log."""

    def __init__(self, session_id: str, turn_log: TurnLog, *, max_turns: int | None) -> None:
        self.name = f"history of {session_id}"
        self._session_id = session_id
        self._log = turn_log
        self._max_turns = max_turns
        self._turns: list[Turn] = []

    def on_start(self) -> None:
        """Replay the log.  Raises CorruptHistory, PersistenceError.  Blocks on: disk.

        A turn found running is one whose server died; it is interrupted before the file is
        compacted, so that a file that shrinks is canonical after one resume (seed A8).
        """
        self._turns = self._log.replay()
        if not self._turns:
            return
        interrupted = self._interrupt_in_memory()
        try:
            before, after = self._compact()
            if interrupted and after == before:
                self._log.write(TurnsInterrupted(utc_now()))
        except PersistenceError as error:
            log.warning("session %s: not compacted at start: %s", self._session_id, error)

    def on_stop(self, exit_: Exit) -> None:
        """Nothing: the pool closes the log when the whole conversation ends."""
        del exit_

    def handle_call(self, message: Any, reply: Reply) -> Any:
        """See the message classes."""
        del reply
        match message:
            case Append():
                return self._append(message)
            case Close():
                return self._close(message.turn)
            case Read():
                return list(self._turns)
            case Interrupt():
                return self._interrupt()
            case Compact():
                return self._compact()
            case _:
                raise TypeError(f"{self.name} does not take {type(message).__name__}")

    def _append(self, message: Append) -> tuple[Turn, ...]:
        if message.id_may_be_known and any(turn.id == message.turn.id for turn in self._turns):
            raise InvalidInput("turn_id: this session has a turn with that id already")
        self._log.write(TurnAppended(message.turn))
        earlier = tuple(self._turns)
        self._turns.append(message.turn)
        return earlier

    def _close(self, turn: Turn) -> Turn:
        self._turns[-1] = turn
        try:
            stored = self._log.write(TurnReplaced(turn))
        except PersistenceError as error:
            log.warning("session %s: a closed turn was not stored: %s", self._session_id, error)
            stored = False
        if stored is not turn.durable:
            self._turns[-1] = turn.with_durable(stored)
        self._compact_if_due()
        return self._turns[-1] if self._turns else turn

    def _interrupt(self) -> None:
        if not self._interrupt_in_memory():
            return
        try:
            self._log.write(TurnsInterrupted(utc_now()))
        except PersistenceError as error:
            log.warning("session %s: an interruption was not stored: %s", self._session_id, error)

    def _interrupt_in_memory(self) -> bool:
        found = False
        for index, turn in enumerate(self._turns):
            if turn.status is TurnStatus.RUNNING:
                self._turns[index] = turn.interrupted()
                found = True
        return found

    def _compact_if_due(self) -> None:
        if not self._log.wants_compaction():
            return
        try:
            self._compact()
        except (PersistenceError, CorruptHistory) as error:
            log.warning("session %s: not compacted: %s", self._session_id, error)

    def _compact(self) -> tuple[int, int]:
        turns = self._turns
        if self._max_turns is not None:
            turns = turns[-self._max_turns :]
        sizes = self._log.compact(turns)
        self._turns = turns
        return sizes
