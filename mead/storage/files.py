"""Work on whole log files: reading one through, keeping bytes beside it, starting a fresh one."""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from mead.errors import CorruptHistory
from mead.storage.damage import Scanner, Verdict
from mead.storage.disk import Disk, DiskFile
from mead.storage.faults import refused, value_of, write_all

log = logging.getLogger(__name__)

READ_STEP_BYTES: Final = 256 * 1024
"""Read and decoded between two yields: some milliseconds, also when the records are small."""

DRAFT_SUFFIX: Final = ".tmp"
"""The name of a file that is being rewritten; without meaning after a crash."""


def examine(
    disk: Disk, file: DiskFile, on_event: Callable[[Any], None], *, size: int | None = None
) -> Verdict:
    """Read the log through, or its first `size` bytes; `on_event` sees what its valid prefix holds.

    Raises PersistenceError and what `on_event` raises.
    Blocks on: disk, yielding every READ_STEP_BYTES.
    """
    scanner = Scanner(on_event)
    offset = 0
    while chunk := value_of(disk.start(partial(file.read, offset, _step(offset, size)))):
        offset += len(chunk)
        scanner.feed(chunk)
    return scanner.finish()


def scan(
    disk: Disk,
    file: DiskFile,
    path: Path,
    on_event: Callable[[Any], None],
    *,
    size: int | None = None,
) -> Verdict:
    """As `examine`, but raises CorruptHistory when the log is damaged before its tail."""
    verdict = examine(disk, file, on_event, size=size)
    if verdict.corrupt:
        raise CorruptHistory(
            f"the stored file of {path.stem} is damaged at byte {verdict.valid} of {verdict.size}:"
            f" {verdict.fault}; it was left as it is"
            " (`flask mead sessions repair` keeps what is readable)"
        )
    return verdict


def keep_tail(disk: Disk, file: DiskFile, path: Path, verdict: Verdict) -> None:
    """Copy what a cut will remove to `<name>.cut-<time>`, and say so in the log.

    Raises PersistenceError.  Blocks on: disk.
    """
    keep(disk, file, path, "cut", verdict.valid, verdict.size)
    log.warning(
        "%s: a torn tail of %d bytes after %d records is cut (%s); the bytes are kept beside it",
        path.stem,
        verdict.cut,
        verdict.records,
        verdict.fault,
    )


def keep(disk: Disk, file: DiskFile, path: Path, word: str, start: int, end: int) -> None:
    """Copy the bytes from `start` to `end` to `<name>.<word>-<time>`, on the disk when it returns.

    Raises PersistenceError.  Blocks on: disk.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    beside = path.with_name(f"{path.name}.{word}-{stamp}")
    value_of(disk.start(partial(_copy, disk, file, beside, start, end)))


def open_log(disk: Disk, path: Path) -> DiskFile:
    """The file of a log.  Raises FileNotFoundError, PersistenceError.  Blocks on: disk."""
    try:
        return disk.start(partial(disk.open, path, "append")).wait()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(error) from None


def open_fresh(disk: Disk, path: Path) -> DiskFile:
    """A new file at `path`, in place of a leftover one.  Raises OSError; for a thread."""
    with suppress(FileNotFoundError):
        disk.unlink(path)
    return disk.open(path, "create")


@contextmanager
def closing(disk: Disk, file: DiskFile) -> Generator[None]:
    """Close the file after the block; a kill leaves it to the job that may still work on it."""
    try:
        yield
    except Exception:
        disk.start(file.close)
        raise
    disk.start(file.close)


def _step(offset: int, size: int | None) -> int:
    return READ_STEP_BYTES if size is None else min(READ_STEP_BYTES, size - offset)


def _copy(disk: Disk, source: DiskFile, path: Path, start: int, end: int) -> None:
    """In a thread."""
    copy = disk.open(path, "create")
    try:
        while start < end:
            data = source.read(start, min(READ_STEP_BYTES, end - start))
            if not data:
                break
            write_all(copy, data)
            start += len(data)
        copy.sync()
    except OSError:
        disk.unlink(path)
        raise
    finally:
        copy.close()
    disk.sync_directory(path.parent)
