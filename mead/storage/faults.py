"""What the disk's refusals become: PersistenceError, in words, without a path."""

import errno
import os
from typing import Final, TypeVar

from mead.errors import PersistenceError
from mead.storage.disk import DiskFile, Job

Value = TypeVar("Value")


class NotDurable(PersistenceError):
    """The disk took the bytes but did not confirm them: they may not survive a power cut."""


class ShortWrite(OSError):
    """The disk took only a part of what it was given."""

    def __init__(self, written: int, wanted: int) -> None:
        super().__init__(errno.ENOSPC, f"only {written} of {wanted} bytes were written")


def write_all(file: DiskFile, data: bytes) -> None:
    """Write all of it; a part is an error.  Raises OSError; for a thread."""
    written = file.write(data)
    if written != len(data):
        raise ShortWrite(written, len(data))


_NO_ROOM: Final = "free some space on the storage disk and try again"
_NO_ACCESS: Final = "check that this process may write to storage.directory"
_NO_FILES: Final = "raise the limit of open files (ulimit -n)"
_NO_FILE: Final = "something else lies in a file's place: look into storage.directory"

_ADVICE: Final = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: "raise the file size limit of this process (ulimit -f) or compact the session",
    errno.EACCES: _NO_ACCESS,
    errno.EPERM: _NO_ACCESS,
    errno.EROFS: _NO_ACCESS,
    errno.EMFILE: _NO_FILES,
    errno.ENFILE: _NO_FILES,
    errno.EINVAL: _NO_FILE,
    errno.EISDIR: _NO_FILE,
    errno.ELOOP: _NO_FILE,
    errno.EIO: "the disk reports an error: look at the system's log",
}
_OTHER: Final = "see `flask mead doctor`"


def refused(error: OSError) -> PersistenceError:
    """The error for a caller whose write did not happen: the system's words and what to do."""
    return PersistenceError(f"the storage disk refused: {_words(error)}")


def value_of(job: Job[Value]) -> Value:
    """What a job gives.  Raises PersistenceError in place of OSError.  Blocks on: the job."""
    try:
        return job.wait()
    except OSError as error:
        raise refused(error) from None


def not_confirmed(error: OSError) -> NotDurable:
    """The error for a caller whose bytes are written but were not synced."""
    return NotDurable(f"the storage disk did not confirm a write: {_words(error)}")


def _words(error: OSError) -> str:
    # `strerror` and not str(error), which would name the file.
    code = error.errno or 0
    reason = error.strerror if isinstance(error, ShortWrite) else os.strerror(code)
    return f"{reason}; {_ADVICE.get(code, _OTHER)}"
