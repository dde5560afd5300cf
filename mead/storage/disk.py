"""The file system as storage needs it: a Protocol, and the real thing with threads of its own.

A method of Disk and DiskFile is one system call and blocks the thread that makes it.  Whatever may
take long (a sync, a rename, reading much) is put into a job and handed to `Disk.start`, which runs
it in a thread, so that the hub never waits for a disk.  A job may not log and may not touch a
greenlet: it runs outside of gevent.

Theory of operation of DiskThreads.  A thread takes jobs one after another from a native queue, and
finished jobs go back to the hub in batches, one wake-up for all that are ready by then.  Compared
with one hop through `gevent.threadpool` for every job this doubles the syncs per second of many
sessions.  Threads are started as they are needed, so a runtime that writes nothing has none.
"""

import errno
import os
import stat
from _queue import SimpleQueue
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, cast

import gevent
from gevent.event import AsyncResult
from gevent.threadpool import ThreadPool

from mead.actors.exits import Outcome
from mead.actors.green import time_limit

Value = TypeVar("Value")
ValueOut = TypeVar("ValueOut", covariant=True)
OpenMode = Literal["read", "append", "create"]

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
THREADS: Final = 8
"""With 64 sessions on two cores, 4 gave 2.7 times the turns per second of one session, 8 gave 3.1
and 16 gave 3.6, at 2.5, 6 and 8.5 ms lateness of the hub (p99)."""
CLOSE_WAIT_MS: Final = 5000
"""A disk that hangs longer keeps its thread; nobody else waits for it."""

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

    def start(self, job: Callable[[], Value]) -> "ThreadJob[Value]":
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


class ThreadJob(Generic[Value]):
    """A job in a thread."""

    __slots__ = ("_function", "_outcome", "_result")

    def __init__(self, function: Callable[[], Value]) -> None:
        self._function = function
        self._outcome: Outcome[Value] | None = None
        self._result: AsyncResult[Outcome[Value]] = AsyncResult()

    @property
    def done(self) -> bool:
        return self._outcome is not None

    def wait(self) -> Value:
        outcome = cast(Outcome[Value], self._result.get())
        if outcome.error is not None:
            raise outcome.error
        return cast(Value, outcome.value)

    def run(self) -> None:
        """In the thread: do it, and keep what came of it as a value."""
        try:
            self._outcome = Outcome(self._function())
        except BaseException as error:  # noqa: BLE001 - the one who waits decides
            self._outcome = Outcome(error=error)

    def tell(self) -> None:
        """In the hub: wake the one who waits."""
        self._result.set(self._outcome)


class DiskThreads:
    """Native threads that run jobs for one hub."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pool: ThreadPool | None = None
        self._loop: Any = None
        self._threads = 0
        self._unfinished = 0
        self._waiting: SimpleQueue[ThreadJob[Any] | None] = SimpleQueue()
        self._finished: deque[ThreadJob[Any]] = deque()
        self._woken = False

    def start(self, function: Callable[[], Value]) -> ThreadJob[Value]:
        """Have a thread run `function`.  Blocks on: nothing."""
        job = ThreadJob(function)
        self._unfinished += 1
        if self._unfinished > self._threads < self._limit:
            self._add_thread()
        self._waiting.put(job)
        return job

    def close(self) -> None:
        """Have every thread end after the jobs that wait already; see RealDisk.close."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for _ in range(self._threads):
            self._waiting.put(None)
        self._threads = 0
        with time_limit(CLOSE_WAIT_MS) as limit:
            try:
                pool.kill()
            except gevent.Timeout as timeout:
                if timeout is not limit:
                    raise

    def _add_thread(self) -> None:
        pool = self._pool
        if pool is None:
            # Made here and not before: a gunicorn worker forks between import and first use.
            pool = self._pool = ThreadPool(self._limit)
            self._loop = gevent.get_hub().loop
        self._threads += 1
        pool.spawn(self._work)

    def _work(self) -> None:
        """A thread's life."""
        while (job := self._waiting.get()) is not None:
            job.run()
            self._finished.append(job)
            # Set before it is read: a job that is appended while `_tell` empties the queue either
            # is seen there or finds the flag down and asks for another call.
            if not self._woken:
                self._woken = True
                self._loop.run_callback_threadsafe(self._tell)

    def _tell(self) -> None:
        """In the hub: hand back what is finished by now."""
        self._woken = False
        while self._finished:
            self._unfinished -= 1
            self._finished.popleft().tell()
