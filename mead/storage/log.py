"""RecordLog: one append-only file of records, under sessions, the ledger and the deck alike.

It knows nothing of what an event means: it takes ready JSON bytes and, when it is opened, gives
every event back as the value they stand for.

Theory of operation.  Operations happen one after another, under a lock.  What may take long runs
as a job in one of the disk's threads, and such a job itself brings the log's fields up to date, so
that they are right even when the greenlet that waits for it is killed.  The kill frees the lock
while the job runs on, so the next operation first waits for it and tidies up (`_settle`).

A write that fails is undone: the file is cut back to its size before.  When that fails too, or a
sync fails, nobody knows what the disk holds (the system forgets which pages it failed to write and
would call the next sync a success).  The log is then poisoned: it takes nothing more until
`rewrite` has put everything into a new file.  Source: seed A8, SPEC sections 2 and 11.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from mead.actors.green import BoundedSemaphore, Timeout, time_limit
from mead.errors import CorruptHistory, PersistenceError
from mead.storage.disk import Disk, DiskFile, Job
from mead.storage.disk_threads import CLOSE_WAIT_MS
from mead.storage.draft import Draft, encode
from mead.storage.faults import ShortWrite, not_confirmed, refused, value_of, write_all
from mead.storage.files import keep_tail, open_log, scan
from mead.storage.records import RecordTooLarge, encode_record

Value = TypeVar("Value")


class RecordLog:
    """An open log."""

    __slots__ = (
        "_disk",
        "_draft",
        "_file",
        "_job",
        "_lock",
        "_path",
        "_records",
        "poisoned",
        "size",
        "synced",
    )

    def __init__(self, disk: Disk, path: Path, file: DiskFile) -> None:
        self._disk = disk
        self._path = path
        self._file = file
        self._lock = BoundedSemaphore(1)
        self._job: Job[Any] | None = None
        self._draft: Draft | None = None
        """Of a rewrite that is not finished."""
        self._records = 0
        self.size = 0
        """Bytes of the file."""
        self.synced = 0
        """Bytes of the file that are known to be on the disk."""
        self.poisoned = False
        """Whether it takes nothing more before a `rewrite`."""

    @classmethod
    def create(cls, disk: Disk, path: Path, *, sync: bool) -> Self:
        """A new, empty log; with `sync` its name is on the disk when this returns.

        Raises PersistenceError.  Blocks on: disk.
        """
        return cls(disk, path, value_of(disk.start(partial(_create, disk, path, sync=sync))))

    @classmethod
    def open(cls, disk: Disk, path: Path, on_event: Callable[[Any], None]) -> Self:
        """The log at `path`, once `on_event` has seen every event and a torn tail is cut.

        The tail's bytes are kept beside the log first.  Raises FileNotFoundError; CorruptHistory
        (also from `on_event`), the file is then untouched; PersistenceError.  Blocks on: disk.
        """
        file = open_log(disk, path)
        try:
            verdict = scan(disk, file, path, on_event)
            if verdict.cut:
                keep_tail(disk, file, path, verdict)
                value_of(disk.start(partial(_truncate, file, verdict.valid)))
        except Exception:  # a kill leaves the file to the job that may still work on it
            disk.start(file.close).wait()
            raise
        opened = cls(disk, path, file)
        opened._records = verdict.records
        opened.size = verdict.valid
        opened.synced = verdict.valid if verdict.cut else verdict.synced
        return opened

    def read(self, on_event: Callable[[Any], None]) -> None:
        """Show `on_event` every event again, from the file.

        All of it was written, so a tail that cannot be read is damage here, never a torn write.
        Raises CorruptHistory, PersistenceError.  Blocks on: disk.
        """
        with self._lock:
            self._settle()
            if scan(self._disk, self._file, self._path, on_event, size=self.size).cut:
                raise CorruptHistory

    # -- writing -----------------------------------------------------------------------------------

    def append(self, event: bytes, *, sync: bool) -> int:
        """Add one record and return its offset in bytes; with `sync` it is then on the disk.

        Raises PersistenceError; the file is then as long as it was before.
        Blocks on: disk (own threads), unless `sync` is false and all goes well.
        """
        if sync or self.poisoned or self._job is not None or self._lock.locked():
            return self.append_many((event,), sync=sync)
        offset = self.size
        try:
            record = encode_record(self._records + 1, self.synced, event)
            written = self._file.write(record)
            if written != len(record):
                raise ShortWrite(written, len(record))
        except OSError as error:
            with self._lock:
                self._wait(self._undo)
            raise refused(error) from None
        except RecordTooLarge as error:
            raise PersistenceError(str(error)) from None
        self.size = offset + written
        self._records += 1
        return offset

    def append_many(
        self, events: Sequence[bytes], *, sync: bool, keep_unsynced: bool = False
    ) -> int:
        """Add records in one write and return the offset of the first.

        When the write succeeds and the sync fails, the records are taken back, or with
        `keep_unsynced` left in the file; NotDurable is raised and the log is poisoned.  Raises
        PersistenceError as `append`.  Blocks on: disk.
        """
        with self._lock:
            self._settle()
            self._check_usable()
            offset = self.size
            data = self._encode(events)
            self._run(
                partial(self._write, data, len(events), sync=sync, keep_unsynced=keep_unsynced)
            )
        return offset

    def sync(self) -> None:
        """Return once everything is on the disk.

        Raises NotDurable, and the log is then poisoned.  Blocks on: disk.
        """
        with self._lock:
            self._settle()
            self._check_usable()
            if self.synced != self.size:
                self._run(self._sync)

    def rewrite(self, events: Iterable[bytes], *, only_if_smaller: bool = False) -> tuple[int, int]:
        """Put exactly these events into a new file and the new file in place of the old one.

        With `only_if_smaller` a file that would not shrink stays as it is, unless it is poisoned.
        Answers the bytes before and after.  Raises PersistenceError; the old file is then intact,
        or, when only the new name could not be synced, the new one is in place and poisoned.
        Blocks on: disk, yielding every STEP_BYTES.
        """
        with self._lock:
            self._settle()
            before = self.size
            self._draft = draft = Draft(self._disk, self._path)
            try:
                self._wait(draft.open)
                for batch in draft.batches(events):
                    self._wait(partial(draft.write, batch))
                if not only_if_smaller or draft.size < before or self.poisoned:
                    self._run(partial(self._adopt, draft))
            finally:
                if self._job is None:
                    self._settle()
        return before, self.size

    def close(self, wait_ms: float = CLOSE_WAIT_MS) -> bool:
        """Let go of the file, once what is under way has ended; whether that came in time.

        Never raises.  Blocks on: disk, at most `wait_ms`.
        """
        with time_limit(wait_ms) as limit:
            try:
                with self._lock:
                    self._settle()
                    self._wait(self._close_file)
                return True
            except Timeout as timeout:
                if timeout is not limit:
                    raise
        return False

    # -- on the hub --------------------------------------------------------------------------------

    def _check_usable(self) -> None:
        if self.poisoned:
            raise PersistenceError("the storage disk failed earlier; this log must be rewritten")

    def _encode(self, events: Sequence[bytes]) -> bytes:
        return b"".join(
            encode(self._records + place, self.synced, event)
            for place, event in enumerate(events, start=1)
        )

    def _run(self, job: Callable[[], PersistenceError | None]) -> None:
        """Run a job that reports a failure as a value; raise that."""
        error = self._wait(job)
        if error is not None:
            raise error

    def _wait(self, job: Callable[[], Value]) -> Value:
        """Run a job.  An OSError it raises becomes PersistenceError."""
        self._job = started = self._disk.start(job)
        try:
            return value_of(started)
        finally:
            if started.done:  # and not killed while it runs on
                self._job = None

    def _settle(self) -> None:
        """Wait for the job that a killed greenlet left, and drop the draft of its rewrite."""
        if self._job is not None:
            with suppress(OSError):  # there is nobody left to tell
                self._job.wait()
            self._job = None
        if self._draft is not None:
            self._wait(self._discard_draft)

    # -- in a thread -------------------------------------------------------------------------------

    def _write(
        self, data: bytes, records: int, *, sync: bool, keep_unsynced: bool
    ) -> PersistenceError | None:
        before = self.size
        try:
            write_all(self._file, data)
        except OSError as error:
            self._undo()
            return refused(error)
        self.size = before + len(data)
        self._records += records
        failure = self._sync() if sync else None
        if failure is not None and not keep_unsynced:
            self.size = before
            self._records -= records
            self._undo()
        return failure

    def _sync(self) -> PersistenceError | None:
        try:
            self._file.sync()
        except OSError as error:
            self.poisoned = True
            return not_confirmed(error)
        self.synced = self.size
        return None

    def _undo(self) -> None:
        """Cut the file back to `size`; that must be on the disk before anything else is written."""
        try:
            self._file.truncate(self.size)
            if not self.poisoned:
                self._file.sync()
                self.synced = self.size
        except OSError:
            self.poisoned = True

    def _close_file(self) -> None:
        with suppress(OSError):  # what mattered was synced before
            self._file.close()

    def _adopt(self, draft: Draft) -> PersistenceError | None:
        try:
            file = draft.publish()
        except OSError as error:
            return refused(error)
        old, self._file, self._draft = self._file, file, None
        self.size = self.synced = draft.size
        self._records = draft.records
        self.poisoned = False
        with suppress(OSError):  # nobody reads it any more
            old.close()
        try:
            self._disk.sync_directory(self._path.parent)
        except OSError as error:
            # After a power cut the old file could be back, without what is appended from now on.
            self.poisoned = True
            return not_confirmed(error)
        return None

    def _discard_draft(self) -> None:
        draft, self._draft = self._draft, None
        if draft is not None:
            draft.discard()


def _create(disk: Disk, path: Path, *, sync: bool) -> DiskFile:
    file = disk.open(path, "create")
    if sync:
        try:
            disk.sync_directory(path.parent)
        except OSError:
            file.close()
            disk.unlink(path)
            raise
    return file


def _truncate(file: DiskFile, size: int) -> None:
    # Synced under every policy: the tail must not come back behind a record written after it.
    file.truncate(size)
    file.sync()
