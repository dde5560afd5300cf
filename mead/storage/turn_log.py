"""One conversation in its file: a TurnLog over a RecordLog, with the rules of `storage.fsync`.

It keeps the turns as its events have made them (the objects of the History, no copies), because
three things need them: a History that returns after a crash, a log that must be rewritten because
the disk did not confirm a write, and a compaction.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mead.actors.green import pause, with_pauses
from mead.errors import PersistenceError
from mead.protocols import TurnAppended, TurnEvent
from mead.storage.faults import NotDurable
from mead.storage.log import RecordLog
from mead.storage.turn_events import TurnFold, apply_event, encode_event
from mead.turn import Turn

log = logging.getLogger(__name__)

COMPACT_GROWTH: Final = 1.5
"""A file is compacted again when it has grown by this factor; keeps it from every turn."""

ENCODE_STEP: Final = 100
"""Turns encoded between two yields of a rewrite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePolicy:
    """What the settings say of one log."""

    fsync: Literal["always", "turn", "interval", "never"]
    compact_after_bytes: int

    @property
    def syncs_turns(self) -> bool:
        """Whether every event of a turn is synced: `turn` syncs its opening and its closing."""
        return self.fsync in ("always", "turn")


class FileTurnLog:
    """The TurnLog of a session that runs."""

    def __init__(
        self,
        session_id: str,
        records: RecordLog,
        turns: list[Turn],
        *,
        policy: WritePolicy,
        on_unsynced: Callable[[RecordLog], None],
        on_close: Callable[[], None],
    ) -> None:
        """`on_unsynced` is told of a write that waits for the syncer; neither may block."""
        self._session_id = session_id
        self._records = records
        self._turns = turns
        self._policy = policy
        self._on_unsynced = on_unsynced
        self._on_close = on_close
        self._owed: list[bytes] = []
        """Closings that the disk refused; they are written with the next event."""
        self._in_doubt = False
        """Whether a kill hit a write, so that only the file knows what was recorded."""
        self._compacted_size = 0

    def replay(self) -> list[Turn]:
        if self._in_doubt:
            fold = TurnFold()
            self._records.read(fold.take)
            self._turns = fold.turns(pause)
            self._owed = []
            self._in_doubt = False
        return list(self._turns)

    def write(self, event: TurnEvent) -> bool:
        """See TurnLog.write.

        A closing that the disk did not confirm answers False and is kept; an opening must be
        confirmed, if need be in a new file, or it is refused.
        """
        opening = isinstance(event, TurnAppended)
        data = encode_event(event)
        self._in_doubt = True
        try:
            durable = self._record(data, event, opening=opening)
        except PersistenceError:
            self._in_doubt = False
            if not opening:
                # The answer is out already: keep it, and write it with whatever comes next.
                apply_event(self._turns, event, durable=False)
                self._owed.append(data)
            raise
        self._in_doubt = False
        self._owed = []
        apply_event(self._turns, event, durable=durable)
        return durable

    def compact(self, turns: Sequence[Turn]) -> tuple[int, int]:
        trims = len(turns) < len(self._turns)
        try:
            sizes = self._records.rewrite(appends(turns), only_if_smaller=not (trims or self._owed))
            self._owed = []
            self._turns = list(turns)
            return sizes
        finally:
            self._compacted_size = self._records.size

    def wants_compaction(self) -> bool:
        size = self._records.size
        return (
            size >= self._policy.compact_after_bytes
            and size >= COMPACT_GROWTH * self._compacted_size
        )

    def close(self) -> None:
        """See TurnLog.close; the store then calls `shut`.  Blocks on: nothing (safe in the hub)."""
        self._on_close()

    def shut(self) -> bool:
        """Let go of the file; whether the disk did so in time.  Never raises.  Blocks on: disk."""
        if self._policy.fsync == "interval":
            self._sync_before_close()
        return self._records.close()

    def _record(self, data: bytes, event: TurnEvent, *, opening: bool) -> bool:
        records, sync = self._records, self._policy.syncs_turns
        if records.poisoned:
            self._rewrite(event)
            return True
        try:
            if self._owed:
                records.append_many([*self._owed, data], sync=sync, keep_unsynced=not opening)
            elif sync:
                records.append_many((data,), sync=True, keep_unsynced=not opening)
            else:
                records.append(data, sync=False)
        except NotDurable as error:
            log.warning("session %s: %s", self._session_id, error)
            if not opening:
                return False
            self._rewrite(event)
            return True
        if self._policy.fsync == "interval":
            self._on_unsynced(records)
        return True

    def _rewrite(self, event: TurnEvent) -> None:
        """Put everything, `event` included, into a new file.  Raises PersistenceError."""
        turns = list(self._turns)
        apply_event(turns, event, durable=True)
        before, after = self._records.rewrite(appends(turns))
        self._compacted_size = after
        log.warning(
            "session %s: rewritten into a new file after a disk failure, %d bytes before, %d after",
            self._session_id,
            before,
            after,
        )

    def _sync_before_close(self) -> None:
        try:
            self._records.sync()
        except PersistenceError as error:
            log.warning("session %s: not synced at its end: %s", self._session_id, error)


def appends(turns: Iterable[Turn]) -> Iterator[bytes]:
    """A log's events in their shortest form, one a turn.  Yields to other greenlets in between."""
    for turn in with_pauses(turns, ENCODE_STEP):
        yield encode_event(TurnAppended(turn))
