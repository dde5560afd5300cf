"""The new file of a log that is rewritten, until it takes the old one's place."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from mead.errors import PersistenceError
from mead.storage.disk import Disk, DiskFile
from mead.storage.faults import write_all
from mead.storage.files import DRAFT_SUFFIX, open_fresh
from mead.storage.records import RecordTooLarge, encode_record

STEP_BYTES: Final = 256 * 1024
"""Handed to the disk at a time; other greenlets run in between."""


def encode(sequence: int, synced: int, event: bytes) -> bytes:
    """The record of the event.  Raises PersistenceError when it is too large."""
    try:
        return encode_record(sequence, synced, event)
    except RecordTooLarge as error:
        raise PersistenceError(str(error)) from None


class Draft:
    """Not read by anyone yet.  All methods but `batches` raise OSError, and are for a thread."""

    def __init__(self, disk: Disk, log_path: Path) -> None:
        self._disk = disk
        self._log_path = log_path
        self._path = log_path.with_name(log_path.name + DRAFT_SUFFIX)
        self._file: DiskFile | None = None
        self.size = 0
        self.records = 0

    def batches(self, events: Iterable[bytes]) -> Iterator[bytes]:
        """The records of the events in pieces to write.  Raises PersistenceError."""
        batch: list[bytes] = []
        pending = 0
        for event in events:
            self.records += 1
            # It gets its name only once all of it is synced, so each record may say so.
            record = encode(self.records, self.size, event)
            self.size += len(record)
            pending += len(record)
            batch.append(record)
            if pending >= STEP_BYTES:
                yield b"".join(batch)
                batch, pending = [], 0
        yield b"".join(batch)

    def open(self) -> None:
        """Begin, in place of what an earlier rewrite left."""
        self._file = open_fresh(self._disk, self._path)

    def write(self, batch: bytes) -> None:
        """Add a piece."""
        write_all(self._opened, batch)

    def publish(self) -> DiskFile:
        """Sync it and give it the log's name; the caller syncs the directory."""
        self._opened.sync()
        self._disk.rename(self._path, self._log_path)
        return self._opened

    def discard(self) -> None:
        """Remove it.  Never raises: the next rewrite and the next boot remove it as well."""
        with suppress(OSError):
            if self._file is not None:
                self._file.close()
                self._disk.unlink(self._path)

    @property
    def _opened(self) -> DiskFile:
        assert self._file is not None  # noqa: S101 - `open` comes first
        return self._file
