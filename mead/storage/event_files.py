"""What the deck keeps in the storage directory, beside the conversations.

    <id>.events            the event log of session <id>
    <id>.events.corrupt    a damaged one that was set aside
    <id>.title             its name, as UTF-8 text

Source: SPEC section 8.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from mead.errors import SessionNotFound
from mead.ids import is_uuid4
from mead.storage.disk import Disk
from mead.storage.faults import value_of, write_all
from mead.storage.files import DRAFT_SUFFIX, open_fresh
from mead.storage.log import RecordLog
from mead.storage.record_reader import RecordReader
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy

Value = TypeVar("Value")

log = logging.getLogger(__name__)

EVENTS_SUFFIX: Final = ".events"
CORRUPT_SUFFIX: Final = ".corrupt"
TITLE_SUFFIX: Final = ".title"
TITLE_BYTES: Final = 4096
"""More of a title file is not read."""


class EventFiles:
    """Opens and writes them.  The caller holds the directory's lock."""

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        policy: WritePolicy,
        syncer: Syncer,
    ) -> None:
        """`syncer` serves the `interval` policy."""
        self._disk = disk
        self._directory = directory
        self.policy = policy
        self._syncer = syncer

    # -- event logs --------------------------------------------------------------------------------

    def open(self, session_id: str, on_event: Callable[[Any], None]) -> RecordLog | None:
        """The log, once `on_event` has seen every event; None when there is none.

        Raises CorruptHistory (also from `on_event`), PersistenceError.  Blocks on: disk.
        """
        try:
            return RecordLog.open(self._disk, self._path(session_id, EVENTS_SUFFIX), on_event)
        except FileNotFoundError:
            return None

    def create(self, session_id: str) -> RecordLog:
        """A new, empty log.  Raises PersistenceError.  Blocks on: disk."""
        path = self._path(session_id, EVENTS_SUFFIX)
        return RecordLog.create(self._disk, path, sync=self.policy.fsync != "never")

    def reader(self, session_id: str, offset: int) -> RecordReader:
        """Reads the log from the record at `offset` on."""
        return RecordReader(self._disk, self._path(session_id, EVENTS_SUFFIX), offset)

    def written(self, records: RecordLog) -> None:
        """Something was written to the log that was not synced.  Blocks on: nothing."""
        if self.policy.fsync == "interval":
            self._syncer.add(records)

    def close(self, records: RecordLog) -> None:
        """Let go of a log.  Never raises.  Blocks on: disk."""
        self._syncer.discard(records)
        records.close()

    def set_aside(self, session_id: str) -> None:
        """Move a damaged log out of the way, over an earlier one.  Raises PersistenceError."""
        path = self._path(session_id, EVENTS_SUFFIX)
        aside = path.with_name(path.name + CORRUPT_SUFFIX)

        def move() -> None:
            self._disk.rename(path, aside)
            self._disk.sync_directory(self._directory)

        self._run(move)
        log.warning("session %s: its damaged event log is set aside", session_id)

    # -- titles ------------------------------------------------------------------------------------

    def titles(self) -> dict[str, str]:
        """Every title by session id.  Raises PersistenceError.  Blocks on: disk."""

        def read_all() -> dict[str, str]:
            found: dict[str, str] = {}
            for entry in self._disk.listing(self._directory):
                session_id, suffix = entry.name[: -len(TITLE_SUFFIX)], TITLE_SUFFIX
                if entry.name.endswith(suffix) and is_uuid4(session_id):
                    found[session_id] = self._title(self._directory / entry.name)
            return found

        return self._run(read_all)

    def write_title(self, session_id: str, title: str) -> None:
        """Replace the title, whole or not at all.  Raises PersistenceError.  Blocks on: disk."""
        path = self._path(session_id, TITLE_SUFFIX)
        draft = path.with_name(path.name + DRAFT_SUFFIX)
        data = title.encode()

        def write() -> None:
            file = open_fresh(self._disk, draft)
            try:
                write_all(file, data)
                if self.policy.fsync != "never":
                    file.sync()
            finally:
                file.close()
            self._disk.rename(draft, path)

        self._run(write)

    def _title(self, path: Path) -> str:
        """In a thread."""
        with suppress(FileNotFoundError):
            file = self._disk.open(path, "read")
            try:
                return file.read(0, TITLE_BYTES).decode(errors="replace")
            finally:
                file.close()
        return ""

    def _path(self, session_id: str, suffix: str) -> Path:
        if not is_uuid4(session_id):
            raise SessionNotFound
        return self._directory / f"{session_id}{suffix}"

    def _run(self, job: Callable[[], Value]) -> Value:
        return value_of(self._disk.start(job))
