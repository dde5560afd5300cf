"""The ledger's journal: its events in `ledger.journal`, rewritten as one checkpoint when long."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import orjson

from mead.errors import CorruptHistory, PersistenceError
from mead.ledger.totals import Totals

log = logging.getLogger(__name__)

GROWTH: Final = 1.5
"""As for a session's log: no rewrite until the file has grown by half since the last one."""


class EventLog(Protocol):
    """What the journal needs of a log; `storage.log.RecordLog` is one."""

    size: int
    poisoned: bool

    def read(self, on_event: Callable[[Any], None]) -> None: ...

    def append_many(
        self, events: Sequence[bytes], *, sync: bool, keep_unsynced: bool = False
    ) -> int: ...

    def rewrite(self, events: Iterable[bytes]) -> tuple[int, int]: ...

    def sync(self) -> None: ...

    def close(self) -> bool: ...


Log = TypeVar("Log", bound=EventLog)


class Journal(Generic[Log]):
    """Appends batches; used by the ledger's actor alone."""

    def __init__(
        self,
        records: Log,
        *,
        sync: bool,
        maximum_bytes: int,
        renew: Callable[[], Log],
        appended: Callable[[Log], None],
    ) -> None:
        """`renew` puts a new log in place of a damaged one; `appended` is told of each batch."""
        self._records = records
        self._sync = sync
        self._maximum_bytes = maximum_bytes
        self._renew = renew
        self._appended = appended
        self._checkpoint_bytes = 0

    def append(self, events: Sequence[bytes]) -> None:
        """Write a batch.  Raises PersistenceError, CorruptHistory; then nothing of it was written.

        A log that a failing disk has poisoned is first put into a new file.  Blocks on: disk.
        """
        if self._records.poisoned:
            self._checkpoint()
        self._records.append_many(events, sync=self._sync)
        self._appended(self._records)
        if self._records.size > max(self._maximum_bytes, GROWTH * self._checkpoint_bytes):
            self._checkpoint_or_warn()

    def begin_anew(self, totals: Totals) -> None:
        """Set a damaged journal aside and begin another with these totals.

        The only time that the live totals are written: there is nothing else to go by.
        Raises PersistenceError.  Blocks on: disk.
        """
        events = [orjson.dumps(event) for event in totals.checkpoint()]
        self._records.close()
        self._records = self._renew()
        self._records.append_many(events, sync=self._sync)
        self._appended(self._records)

    def close(self) -> None:
        """Let go of the file."""
        try:
            if not self._records.poisoned:
                self._records.sync()
        except PersistenceError as error:
            log.warning("the ledger's journal was not synced at its end: %s", error)
        self._records.close()

    def _checkpoint(self) -> None:
        """Rewrite as one checkpoint, built from the journal itself and never from live totals.

        Live totals hold events that still wait, which would then be counted twice (seed A5).
        """
        totals = Totals()
        self._records.read(totals.apply)
        self._records.rewrite(orjson.dumps(event) for event in totals.checkpoint())
        self._checkpoint_bytes = self._records.size

    def _checkpoint_or_warn(self) -> None:
        try:
            self._checkpoint()
        except (PersistenceError, CorruptHistory) as error:
            log.warning("the ledger's journal was not compacted: %s", error)
