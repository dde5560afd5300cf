"""The ledger's journal as a file of the storage directory.  Source: seed A5."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mead.errors import CorruptHistory
from mead.storage.disk import Disk
from mead.storage.faults import value_of
from mead.storage.log import RecordLog

log = logging.getLogger(__name__)

JOURNAL_NAME: Final = "ledger.journal"
CORRUPT_NAME: Final = "ledger.journal.corrupt"


def open_journal(
    disk: Disk, directory: Path, on_event: Callable[[Any], None], restart: Callable[[], None]
) -> RecordLog:
    """The journal, once `on_event` has seen every event; a new one if there was none.

    A torn tail is cut with a warning.  A damaged file is set aside as `ledger.journal.corrupt`,
    `restart()` tells that what `on_event` saw does not count, and a new journal begins.
    Raises PersistenceError.  Blocks on: disk.
    """
    path = directory / JOURNAL_NAME
    try:
        return RecordLog.open(disk, path, on_event)
    except FileNotFoundError:
        pass
    except CorruptHistory:
        log.warning("the ledger's journal is damaged: set aside as %s", CORRUPT_NAME)
        restart()
        _set_aside(disk, path)
    return RecordLog.create(disk, path, sync=True)


def renew_journal(disk: Disk, directory: Path) -> RecordLog:
    """A new journal, and the one there was set aside as damaged.

    Raises PersistenceError.  Blocks on: disk.
    """
    path = directory / JOURNAL_NAME
    log.warning("the ledger's journal is damaged: set aside as %s", CORRUPT_NAME)
    _set_aside(disk, path)
    return RecordLog.create(disk, path, sync=True)


def _set_aside(disk: Disk, path: Path) -> None:
    def move() -> None:
        disk.rename(path, path.with_name(CORRUPT_NAME))
        disk.sync_directory(path.parent)

    value_of(disk.start(move))
