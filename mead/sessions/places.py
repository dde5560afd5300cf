"""Opens conversations for the deck, in places that its tickets have held."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from mead.errors import SessionNotFound, SessionStopped
from mead.protocols import TurnHandler
from mead.sessions.pool import SessionPool


class Places:
    """See SessionPlaces.  Raises SessionStopped, too, while the pool restarts."""

    def __init__(
        self,
        find_pool: Callable[[], SessionPool | None],
        handler: TurnHandler,
        turn_timeout_ms: int,
    ) -> None:
        """`find_pool` gives the one that runs now; `handler` answers what is opened here."""
        self._find_pool = find_pool
        self._handler = handler
        self._turn_timeout_ms = turn_timeout_ms

    def hold(self) -> ExitStack:
        return self._pool().hold_place()

    def open(self, session_id: str, *, is_new: bool, place: ExitStack | None) -> None:
        with ExitStack() as held:
            if place is not None:
                held.callback(place.close)
            pool = self._pool()
            held.enter_context(pool.exclusive(session_id))
            if pool.get(session_id) is None:
                self._start(pool, session_id, is_new, place)

    def exclusive(self, session_id: str) -> AbstractContextManager[None]:
        return self._pool().exclusive(session_id)

    def _start(
        self, pool: SessionPool, session_id: str, is_new: bool, place: ExitStack | None
    ) -> None:
        try:
            pool.resume_session(session_id, self._handler, self._turn_timeout_ms, place=place)
        except SessionNotFound:
            if not is_new:
                raise
            pool.start_session(
                self._handler, self._turn_timeout_ms, session_id=session_id, place=place
            )

    def _pool(self) -> SessionPool:
        pool = self._find_pool()
        if pool is None:
            raise SessionStopped
        return pool
