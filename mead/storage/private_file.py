"""A small file that is replaced as a whole: its old content or its new one, never a mixture."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from mead.storage.disk import Disk
from mead.storage.faults import value_of, write_all
from mead.storage.files import DRAFT_SUFFIX, open_fresh

Value = TypeVar("Value")

READ_LIMIT_BYTES: Final = 1_048_576
"""More of the file is not read."""


class PrivateFile:
    """One file, 0600.  The caller holds the directory's lock."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def read(self) -> bytes | None:
        """What it holds; None when there is none.  Raises PersistenceError.  Blocks on: disk."""

        def job() -> bytes | None:
            with suppress(FileNotFoundError):
                file = self._disk.open(self._path, "read")
                try:
                    return file.read(0, READ_LIMIT_BYTES)
                finally:
                    file.close()
            return None

        return self._run(job)

    def replace(self, data: bytes) -> None:
        """Put `data` in its place, on the disk when it returns.

        Raises PersistenceError, and the file is then as it was.  Blocks on: disk.
        """
        draft = self._path.with_name(self._path.name + DRAFT_SUFFIX)

        def job() -> None:
            file = open_fresh(self._disk, draft)
            try:
                write_all(file, data)
                file.sync()
            finally:
                file.close()
            self._disk.rename(draft, self._path)
            self._disk.sync_directory(self._path.parent)

        self._run(job)

    def _run(self, job: Callable[[], Value]) -> Value:
        return value_of(self._disk.start(job))
