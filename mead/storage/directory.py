"""The storage directory and the names in it.

    <id>.log                   the conversation of session <id>
    <id>.log.tmp               the log while it is rewritten; without meaning after a crash
    <id>.log.cut-<time>        a torn tail that was cut off
    <id>.log.damaged-<time>    a damaged log as it was before a repair
    <id>.events..., <id>.title what the deck keeps of the same session
    deck-logins.json           digests of login codes and access tokens

Every name that belongs to a session begins with its id and a full stop, and only an id that
`ids.is_uuid4` accepts becomes a name.  Source: SPEC section 3.
"""

import logging
import os
import stat
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from mead.errors import PersistenceError, SessionNotFound
from mead.ids import is_uuid4
from mead.storage.disk import DIRECTORY_MODE, Disk
from mead.storage.faults import refused
from mead.storage.files import DRAFT_SUFFIX

log = logging.getLogger(__name__)

LOG_SUFFIX: Final = ".log"


def log_path(directory: Path, session_id: str) -> Path:
    """Where the session's log is.  Raises SessionNotFound when the id is not the shape of one."""
    if not is_uuid4(session_id):
        raise SessionNotFound
    return directory / f"{session_id}{LOG_SUFFIX}"


def session_of(name: str) -> str | None:
    """The id of the session whose log has that name, if it is one."""
    session_id, suffix = name[: -len(LOG_SUFFIX)], name[-len(LOG_SUFFIX) :]
    return session_id if suffix == LOG_SUFFIX and is_uuid4(session_id) else None


def prepare_directory(directory: Path) -> None:
    """Create the directory, or take group and others off an existing one.

    Raises PersistenceError.  Blocks on: disk, for a few system calls at boot.
    """
    try:
        directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        found = directory.stat()
        if found.st_mode & stat.S_ISVTX or found.st_uid != os.geteuid():
            raise PersistenceError(
                "storage.directory is shared with others (as /tmp is) or not this user's: name a"
                " directory of its own"
            )
        mode = found.st_mode & 0o777
        if mode != DIRECTORY_MODE:
            directory.chmod(DIRECTORY_MODE)
            log.warning("storage.directory had mode %04o; it is now %04o", mode, DIRECTORY_MODE)
    except FileExistsError:
        raise PersistenceError("storage.directory names a file, not a directory") from None
    except OSError as error:
        raise refused(error) from None


def probe_directory(directory: Path) -> None:
    """Prepare the directory and make a file in it that nobody sees.

    For who does not hold its lock.  Raises PersistenceError.  Blocks on: disk.
    """
    prepare_directory(directory)
    try:
        TemporaryFile(dir=directory).close()
    except OSError as error:
        raise refused(error) from None


def remove_leftovers(disk: Disk, directory: Path) -> None:
    """Remove the drafts of rewrites that a crash cut short, then sync the directory.

    For the holder of the directory's lock.  Raises OSError; for a thread.
    """
    for entry in disk.listing(directory):
        if entry.name.endswith(DRAFT_SUFFIX) and is_uuid4(entry.name.partition(".")[0]):
            disk.unlink(directory / entry.name)
    disk.sync_directory(directory)


def remove_session(disk: Disk, directory: Path, session_id: str) -> bool:
    """Remove every file of the session; whether there was one.  Raises OSError; for a thread.

    The log goes last: after a crash in between the session is still listed, and can be deleted.
    """
    names = _names_of(disk, directory, session_id)
    missing = [name for name in names if not _unlinked(disk, directory / name)]
    if missing:  # a draft got its name since the directory was read
        for name in _names_of(disk, directory, session_id):
            _unlinked(disk, directory / name)
    if names:
        disk.sync_directory(directory)
    return bool(names)


def _names_of(disk: Disk, directory: Path, session_id: str) -> list[str]:
    names = [e.name for e in disk.listing(directory) if e.name.startswith(f"{session_id}.")]
    names.sort(key=lambda name: name == f"{session_id}{LOG_SUFFIX}")
    return names


def _unlinked(disk: Disk, path: Path) -> bool:
    """Remove a file; whether it was there."""
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return False
    return True
