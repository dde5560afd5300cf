"""The names of the conversations: read once at the boot, then kept in memory and in files."""

import logging

from mead.actors.green import RLock
from mead.actors.tasks import TaskSupervisor
from mead.deck.naming import found
from mead.errors import PersistenceError
from mead.storage.event_files import EventFiles

log = logging.getLogger(__name__)


class Titles:
    """Session id -> title.  Reading never waits."""

    def __init__(self, files: EventFiles | None, tasks: TaskSupervisor) -> None:
        """`files` is None without a storage directory.  Raises PersistenceError.

        Blocks on: disk.
        """
        self._files = files
        self._tasks = tasks
        stored = {} if files is None else files.titles()
        self._titles = {session_id: found(title) for session_id, title in stored.items()}
        self._lock = RLock()

    def get(self, session_id: str) -> str | None:
        """Its name; None while it has none."""
        return self._titles.get(session_id) or None

    def put(self, session_id: str, title: str) -> None:
        """Name it.  Raises PersistenceError, and the name is then as before.  Blocks on: disk."""
        with self._lock:
            if self._files is not None:
                self._files.write_title(session_id, title)
            self._titles[session_id] = title

    def put_soon(self, session_id: str, title: str) -> None:
        """Name it without waiting for the disk: this name is only a convenience."""
        self._titles[session_id] = title
        files = self._files
        if files is None:
            return

        def write() -> None:
            try:
                with self._lock:
                    if self._titles.get(session_id) == title:
                        files.write_title(session_id, title)
            except PersistenceError as error:
                log.warning("session %s: its title was not stored: %s", session_id, error)

        self._tasks.start(write, name="title")

    def forget(self, session_id: str) -> None:
        """The conversation is deleted, its files with it.  Blocks on: a name being written."""
        with self._lock:
            self._titles.pop(session_id, None)
