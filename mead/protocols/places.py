"""Places for conversations that are about to be opened."""

from contextlib import AbstractContextManager, ExitStack
from typing import Protocol


class SessionPlaces(Protocol):
    """The session pool, as the deck's tickets use it.  Called from any greenlet."""

    def hold(self) -> ExitStack:
        """A place for a conversation that does not run yet; `close` gives it back.

        Raises TooManySessions.  Blocks on: the end of an idle session that makes room.
        """
        ...

    def open(self, session_id: str, *, is_new: bool, place: ExitStack | None) -> None:
        """Return once that conversation runs, with the default handler.

        A stored one is resumed; with `is_new` one that is not stored is started under that id.
        `place`: one that was held for it; it is used or given back.  Raises SessionNotFound,
        CorruptHistory, TooManySessions, PersistenceError.
        Blocks on: disk, another start of the same id.
        """
        ...

    def exclusive(self, session_id: str) -> AbstractContextManager[None]:
        """While its block runs, that conversation is neither started, stopped nor deleted.

        Blocks on: who starts, stops or deletes it now.
        """
        ...
