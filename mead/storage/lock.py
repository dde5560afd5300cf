"""The lock of the storage directory: one process at a time.  Source: SPEC section 1.

A `flock` on the file `mead.lock`, which also holds the pid of whoever has it.  The kernel frees it
when the process ends, however it ends, so there is no stale lock to remove.
"""

import fcntl
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final

from mead.actors.green import sleep_ms
from mead.errors import StorageLocked
from mead.storage.directory import prepare_directory

log = logging.getLogger(__name__)

LOCK_NAME: Final = "mead.lock"
POLL_MS: Final = 100
"""A restart overlaps by a second or more; a tenth of one is not felt."""


class DirectoryLock:
    """A lock that is held.  A context manager; `release` may be called twice."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def release(self) -> None:
        """Let another process have the directory."""
        self._file.close()

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
    file = _open(directory / LOCK_NAME)
    left_ms = wait_s * 1000
    while not _try_lock(file):
        if left_ms <= 0:
            holder = _holder(file)
            file.close()
            raise StorageLocked(
                f"the storage directory {directory} is in use by another process ({holder});"
                " stop that one or give this one another storage.directory"
            )
        if on_wait is not None:
            on_wait()
        sleep_ms(min(POLL_MS, left_ms))
        left_ms -= POLL_MS
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return DirectoryLock(file)


def _open(path: Path) -> IO[str]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "r+", encoding="ascii")


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    pid = file.read(32).strip()
    return f"pid {pid}" if pid.isdigit() else "pid unknown"
