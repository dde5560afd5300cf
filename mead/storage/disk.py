"""The file system as storage needs it: a Protocol, and the real thing.

A method of Disk and DiskFile is one system call and blocks the thread that makes it.  Whatever may
take long (a sync, a rename, reading much) is put into a job and handed to `Disk.start`, which runs
it in a thread, so that the hub never waits for a disk.  A job may not log and may not touch a
greenlet: it runs outside of gevent.
"""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

from mead.storage.disk_threads import THREADS, DiskThreads, ThreadJob

Value = TypeVar("Value")
ValueOut = TypeVar("ValueOut", covariant=True)
OpenMode = Literal["read", "append", "create"]

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700

_FLAGS: Final = {
    "read": os.O_RDONLY,
    "append": os.O_RDWR | os.O_APPEND,
    "create": os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL,
}
_CAREFULLY: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A pipe in a file's place would otherwise hold its thread until somebody writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file of a directory."""

    name: str
    size: int
    modified: float
    """Seconds since 1970, UTC."""


class Job(Protocol[ValueOut]):
    """Something that runs off the hub."""

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        ...

    def wait(self) -> ValueOut:
        """Its value, once it has ended; raises what it raised.

        A greenlet that is killed here leaves at once, and the job runs on to its end.
        """
        ...


class DiskFile(Protocol):
    """An open file.  Every method raises OSError."""

    def write(self, data: bytes) -> int:
        """Add `data` at the end; how many bytes were taken."""
        ...

    def read(self, offset: int, count: int) -> bytes:
        """At most `count` bytes from `offset` on; none at the end."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return once all that was written is on the disk."""
        ...

    def close(self) -> None: ...


class Disk(Protocol):
    """Files and directories.  Every method but `start` raises OSError."""

    def open(self, path: Path, mode: OpenMode) -> DiskFile:
        """`append` wants the file to exist, `create` wants it not to, and makes it private."""
        ...

    def rename(self, old: Path, new: Path) -> None: ...

    def unlink(self, path: Path) -> None: ...

    def listing(self, directory: Path) -> Sequence[FileEntry]:
        """The files in `directory`, in no order."""
        ...

    def sync_directory(self, directory: Path) -> None:
        """Return once the names in `directory` are on the disk."""
        ...

    def start(self, job: Callable[[], Value]) -> Job[Value]:
        """Begin `job` off the hub.  Blocks on: nothing."""
        ...


class RealFile:
    """A DiskFile of the operating system."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def is_regular(self) -> bool:
        """Whether it is a file, and not a pipe, a device or a directory."""
        return stat.S_ISREG(os.fstat(self._fd).st_mode)

    def write(self, data: bytes) -> int:
        return os.write(self._fd, data)

    def read(self, offset: int, count: int) -> bytes:
        return os.pread(self._fd, count, offset)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def sync(self) -> None:
        os.fsync(self._fd)
        if os.fstat(self._fd).st_nlink == 0:  # removed from under us: nobody will find it again
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        # A greenlet that is killed may not close a file that a job still works on (its number could
        # by then be another file's); the last reference is the job's.
        with suppress(OSError):
            self.close()


class RealDisk:
    """The Disk of the operating system; its threads end with `close`."""

    def __init__(self, threads: int = THREADS) -> None:
        self._threads = DiskThreads(threads)

    def open(self, path: Path, mode: OpenMode) -> RealFile:
        """Never follows a link, never waits at a pipe, never touches a device."""
        file = RealFile(os.open(path, _FLAGS[mode] | _CAREFULLY, FILE_MODE))
        if not file.is_regular():
            file.close()
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return file

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def listing(self, directory: Path) -> list[FileEntry]:
        with os.scandir(directory) as entries:
            return [found for entry in entries if (found := _file_entry(entry)) is not None]

    def sync_directory(self, directory: Path) -> None:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def start(self, job: Callable[[], Value]) -> ThreadJob[Value]:
        return self._threads.start(job)

    def close(self) -> None:
        """End the threads once they have done what was started.

        Blocks on: the disk, at most CLOSE_WAIT_MS.
        """
        self._threads.close()


def _file_entry(entry: os.DirEntry[str]) -> FileEntry | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # removed since the directory was read
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileEntry(name=entry.name, size=status.st_size, modified=status.st_mtime)
