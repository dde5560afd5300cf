"""Reads a log from any record on, through a descriptor of its own, while the log is written.

A rewrite gives the log a new file; a reader goes on in the old one, which holds everything up to
the rewrite, and its owner then opens the new one.
"""

from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from mead.errors import CorruptHistory
from mead.storage.disk import Disk, DiskFile
from mead.storage.faults import refused
from mead.storage.records import (
    HEADER_BYTES,
    ForeignPayload,
    decode_payload,
    record_end,
    split_frames,
)

READ_BYTES: Final = 128 * 1024
"""Read and decoded between two yields; more only for a record that is longer."""


class Found(NamedTuple):
    """One event and where its record starts."""

    offset: int
    event: Any


class RecordReader:
    """A place in a log.  The file is opened by the first `read`; `close` it."""

    def __init__(self, disk: Disk, path: Path, offset: int = 0) -> None:
        """`offset` is where a record starts."""
        self._disk = disk
        self._path = path
        self._offset = offset
        self._file: DiskFile | None = None
        self._in_job = False

    def read(self) -> list[Found]:
        """The next whole records; none at what is the end for now.

        Raises CorruptHistory, PersistenceError.  Blocks on: disk.
        """
        count = READ_BYTES
        while True:
            data = self._read(count)
            frames = split_frames(data)
            if frames.fault is not None:
                raise self._corrupt(self._offset + frames.used, frames.fault)
            if frames.payloads or len(data) < count:
                return self._decoded(frames.payloads)
            end = record_end(data, 0)
            count = count * 2 if end is None else end

    def close(self) -> None:
        """Let go of the file.  Never raises.  Blocks on: nothing."""
        file, self._file = self._file, None
        # A job that a kill left behind still reads: the file closes with its last reference.
        if file is not None and not self._in_job:
            self._disk.start(file.close)

    def _read(self, count: int) -> bytes:
        self._in_job = True
        try:
            if self._file is None:
                self._file = self._disk.start(partial(self._disk.open, self._path, "read")).wait()
            data = self._disk.start(partial(self._file.read, self._offset, count)).wait()
        except OSError as error:
            self._in_job = False
            raise refused(error) from None
        self._in_job = False
        return data

    def _decoded(self, payloads: list[bytes]) -> list[Found]:
        found: list[Found] = []
        for payload in payloads:
            try:
                _, _, event = decode_payload(payload)
            except ForeignPayload as error:
                raise self._corrupt(self._offset, str(error)) from None
            found.append(Found(self._offset, event))
            self._offset += HEADER_BYTES + len(payload)
        return found

    def _corrupt(self, offset: int, fault: str) -> CorruptHistory:
        return CorruptHistory(
            f"the stored file of {self._path.stem} is damaged at byte {offset}: {fault}"
        )
