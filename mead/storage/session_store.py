"""The stored conversations as files: one RecordLog for each session.  Source: seed A8.

The caller holds the directory's lock, and serialises resume, stop and delete of the same id.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from mead.actors.green import pause
from mead.actors.tasks import Task, TaskSupervisor, wait_all
from mead.config.settings import StorageSettings
from mead.errors import AlreadyRunning, PersistenceError, SessionNotFound
from mead.protocols import RepairReport, StoredSession
from mead.storage.directory import (
    log_path,
    prepare_directory,
    remove_leftovers,
    remove_session,
    session_of,
)
from mead.storage.disk import Disk, DiskFile, FileEntry, RealDisk
from mead.storage.disk_threads import CLOSE_WAIT_MS
from mead.storage.event_files import EventFiles
from mead.storage.faults import value_of
from mead.storage.files import closing, scan
from mead.storage.journal_file import open_journal, renew_journal
from mead.storage.log import RecordLog
from mead.storage.private_file import PrivateFile
from mead.storage.repair import repair_log
from mead.storage.syncer import Syncer
from mead.storage.turn_events import TurnFold
from mead.storage.turn_log import FileTurnLog, WritePolicy
from mead.turn import Turn

Value = TypeVar("Value")

log = logging.getLogger(__name__)

LOGINS_NAME: Final = "deck-logins.json"


class FileStore:
    """The SessionStore of `storage.directory`."""

    def __init__(self, settings: StorageSettings, *, disk: Disk | None = None) -> None:
        """Prepares the directory and removes what crashed rewrites left.

        Raises PersistenceError.  Blocks on: disk, for a few system calls at boot.
        """
        if settings.directory is None:
            raise PersistenceError("storage.directory is not set")
        self._directory: Path = settings.directory
        self._own_disk: RealDisk | None = None
        if disk is None:
            prepare_directory(settings.directory)
            disk = self._own_disk = RealDisk()
        self._disk: Disk = disk
        self._policy = WritePolicy(
            fsync=settings.fsync, compact_after_bytes=settings.compact_after_bytes
        )
        self._syncer = Syncer(settings.fsync_interval_ms)
        self._tasks = TaskSupervisor("storage")
        self._open: dict[str, FileTurnLog] = {}
        """Logs whose files this process holds open."""
        self._closing: dict[str, Task[None]] = {}
        self._run(partial(remove_leftovers, self._disk, self._directory))

    def create(self, session_id: str) -> FileTurnLog:
        path = log_path(self._directory, session_id)
        records = RecordLog.create(self._disk, path, sync=self._policy.fsync != "never")
        return self._opened(session_id, records, [])

    def open(self, session_id: str) -> FileTurnLog:
        path = log_path(self._directory, session_id)
        if session_id in self._open and session_id not in self._closing:
            raise AlreadyRunning  # two logs on one file would overwrite each other
        self._let_go(session_id)
        fold = TurnFold()
        try:
            records = RecordLog.open(self._disk, path, fold.take)
        except FileNotFoundError:
            raise SessionNotFound from None
        try:
            return self._opened(session_id, records, fold.turns(pause))
        except BaseException:
            records.close()
            raise

    def load(self, session_id: str) -> list[Turn]:
        path = log_path(self._directory, session_id)
        fold = TurnFold()
        file = self._run(partial(_open_if_there, self._disk, path))
        if file is None:
            raise SessionNotFound
        with closing(self._disk, file):
            scan(self._disk, file, path, fold.take)
        return fold.turns(pause)

    def delete(self, session_id: str) -> bool:
        log_path(self._directory, session_id)
        self._let_go(session_id)
        return self._run(partial(remove_session, self._disk, self._directory, session_id))

    def entries(self) -> Iterator[StoredSession]:
        listed = self._run(partial(self._disk.listing, self._directory))
        found = [(entry, name) for entry in listed if (name := session_of(entry.name)) is not None]
        found.sort(key=_newest_first)
        return (
            StoredSession(session_id=name, updated_at=_moment(entry.modified))
            for entry, name in found
        )

    def repair(self, session_id: str) -> RepairReport:
        path = log_path(self._directory, session_id)
        if session_id in self._open and session_id not in self._closing:
            raise AlreadyRunning
        self._let_go(session_id)
        try:
            return repair_log(self._disk, path)
        except FileNotFoundError:
            raise SessionNotFound from None

    def open_journal(
        self, on_event: Callable[[Any], None], restart: Callable[[], None]
    ) -> RecordLog:
        """The ledger's journal; see `journal_file.open_journal`."""
        return open_journal(self._disk, self._directory, on_event, restart)

    def renew_journal(self) -> RecordLog:
        """A new journal in place of a damaged one; see `journal_file.renew_journal`."""
        return renew_journal(self._disk, self._directory)

    def sync_soon(self, records: RecordLog) -> None:
        """Have a log synced within `storage.fsync_interval_ms`, if that is the policy."""
        if self._policy.fsync == "interval":
            self._syncer.add(records)

    def event_files(self) -> EventFiles:
        """What the deck keeps beside the conversations."""
        return EventFiles(self._disk, self._directory, self._policy, self._syncer)

    def logins_file(self) -> PrivateFile:
        """What the deck keeps of codes and access tokens: digests alone."""
        return PrivateFile(self._disk, self._directory / LOGINS_NAME)

    def close(self) -> None:
        """Close every log that is open, end the syncer and the disk's threads.

        Blocks on: disk, within the bounds of its parts.
        """
        for turn_log in list(self._open.values()):
            turn_log.close()
        wait_all(list(self._closing.values()), CLOSE_WAIT_MS)
        self._syncer.close()
        self._tasks.stop()
        if self._own_disk is not None:
            self._own_disk.close()

    def _opened(self, session_id: str, records: RecordLog, turns: list[Turn]) -> FileTurnLog:
        turn_log = FileTurnLog(
            session_id,
            records,
            turns,
            policy=self._policy,
            on_unsynced=self._syncer.add,
            on_close=lambda: self._close_soon(session_id, turn_log, records),
        )
        self._open[session_id] = turn_log
        return turn_log

    def _close_soon(self, session_id: str, turn_log: FileTurnLog, records: RecordLog) -> None:
        """Have a task close the log: whoever ends a session may not wait for a disk."""

        def shut() -> None:
            if turn_log.shut():
                self._syncer.discard(records)
                if self._open.get(session_id) is turn_log:
                    del self._open[session_id]
            else:
                log.warning("session %s: the disk hangs; its file stays open", session_id)

        if self._open.get(session_id) is turn_log and session_id not in self._closing:
            self._closing[session_id] = self._tasks.start(
                shut,
                name=f"close {session_id}",
                on_end=lambda _: self._closing.pop(session_id, None),
            )

    def _let_go(self, session_id: str) -> None:
        """Wait until the log that an earlier owner had open is closed.  Raises PersistenceError."""
        left = self._open.get(session_id)
        if left is None:
            return
        left.close()
        wait_all([self._closing[session_id]], CLOSE_WAIT_MS)
        if session_id in self._open:
            raise PersistenceError("the storage disk does not answer; try again later")

    def _run(self, job: Callable[[], Value]) -> Value:
        return value_of(self._disk.start(job))


def _open_if_there(disk: Disk, path: Path) -> DiskFile | None:
    try:
        return disk.open(path, "read")
    except FileNotFoundError:
        return None


def _newest_first(row: tuple[FileEntry, Any]) -> tuple[float, str]:
    entry, _ = row
    return -entry.modified, entry.name


def _moment(seconds: float) -> datetime:
    """The time, or the nearest that a datetime can be: a file may have any time at all."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC, microsecond=0)
