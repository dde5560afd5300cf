"""The lock of the storage directory: one process at a time.  Source: SPEC section 1.

A `flock` on the file `mead.lock`, which also holds the pid of whoever has it.  The kernel frees it
when the process ends, however it ends, so there is no stale lock to remove.
"""

import fcntl
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from mead.actors.green import sleep_ms
from mead.errors import StorageLocked
from mead.storage.directory import prepare_directory
from mead.storage.disk import FILE_MODE
from mead.storage.faults import refused

log = logging.getLogger(__name__)

LOCK_NAME: Final = "mead.lock"
POLL_MS: Final = 100
"""A restart overlaps by a second or more; a tenth of one is not felt."""


class DirectoryLock:
    """A lock that is held.  A context manager; `release` may be called twice."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path

    @property
    def intact(self) -> bool:
        """Whether the directory still holds this lock: it may have been removed or replaced."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.lstat())
        except OSError:
            return False

    def release(self) -> None:
        """Let another process have the directory."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> "DirectoryLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def acquire(
    directory: Path,
    wait_s: float = 0,
    on_wait: Callable[[], object] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> DirectoryLock:
    """Take the directory (created if absent), waiting up to `wait_s` seconds for its holder.

    `on_wait` is called on every poll, every POLL_MS.  Raises StorageLocked with the directory and
    the holder's pid, PersistenceError.  Blocks on: the holder, with other greenlets running.
    """
    prepare_directory(directory)
    if "DYNO" in environment:
        log.warning(
            "storage.directory is on a Heroku dyno, whose disk is wiped at least once a day:"
            " conversations and usage will not outlive that"
        )
    path = directory / LOCK_NAME
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    except OSError as error:
        raise refused(error) from None
    lock = DirectoryLock(descriptor, path)
    try:
        _wait_for(descriptor, directory, wait_s * 1000, on_wait)
    except BaseException:
        lock.release()
        raise
    with suppress(OSError):  # on a full disk; the lock holds all the same
        os.pwrite(descriptor, pid := b"%d\n" % os.getpid(), 0)
        os.ftruncate(descriptor, len(pid))
    return lock


def locked(directory: Path, pid: int | None) -> StorageLocked:
    """The error for who does not get the directory."""
    return StorageLocked(
        f"the storage directory {directory} is in use by another process"
        f" (pid {'unknown' if pid is None else pid}); stop that one or give this one another"
        " storage.directory"
    )


def holder(directory: Path) -> int | None:
    """The pid of the process that has the directory; None if it is free or has not said.

    Raises PersistenceError.
    """
    path = directory / LOCK_NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused(error) from None
    with DirectoryLock(descriptor, path):
        return None if _try_lock(descriptor, fcntl.LOCK_SH) else _pid_in(descriptor)


def _wait_for(
    descriptor: int, directory: Path, left_ms: float, on_wait: Callable[[], object] | None
) -> None:
    while not _try_lock(descriptor):
        if left_ms <= 0:
            raise locked(directory, _pid_in(descriptor))
        if on_wait is not None:
            on_wait()
        sleep_ms(min(POLL_MS, left_ms))
        left_ms -= POLL_MS


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise refused(error) from None
    return True


def _pid_in(descriptor: int) -> int | None:
    pid = os.pread(descriptor, 32, 0).strip()
    return int(pid) if pid.isdigit() else None
