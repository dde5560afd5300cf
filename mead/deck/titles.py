"""The names of the conversations: read once at the boot, then kept in memory and in files."""

import logging
import unicodedata
from typing import Final

from mead.actors.green import RLock
from mead.actors.tasks import TaskSupervisor
from mead.errors import InvalidInput, PersistenceError
from mead.storage.event_files import EventFiles

log = logging.getLogger(__name__)

MAXIMUM_CHARACTERS: Final = 200
"""A title stands on one line of a list."""


class Titles:
    """Session id -> title.  Reading never waits."""

    def __init__(self, files: EventFiles | None, tasks: TaskSupervisor) -> None:
        """`files` is None without a storage directory.  Raises PersistenceError.

        Blocks on: disk.
        """
        self._files = files
        self._tasks = tasks
        self._titles = {} if files is None else files.titles()
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


def checked(title: object) -> str:
    """A title that a person chose, without white space around it.  Raises InvalidInput."""
    if not isinstance(title, str):
        raise InvalidInput("title must be a text")
    name = title.strip()
    if not 0 < len(name) <= MAXIMUM_CHARACTERS:
        raise InvalidInput(f"title must have 1 to {MAXIMUM_CHARACTERS} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise InvalidInput("title must be one line of text")
    return name
