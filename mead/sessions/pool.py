"""All conversations that are running: starts, finds, stops and makes room.  Source: seed A1, A8."""

import logging
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

from mead.actors.dynamic import DynamicSupervisor, TooManyChildren
from mead.actors.green import RLock
from mead.actors.registry import Registry
from mead.actors.tasks import TaskSupervisor
from mead.errors import AlreadyRunning, TooManySessions
from mead.ids import new_session_id
from mead.protocols import SessionStore, TurnHandler, TurnLog
from mead.sessions.supervisor import SessionSupervisor

log = logging.getLogger(__name__)


class SessionPool(DynamicSupervisor[SessionSupervisor]):
    """One SessionSupervisor per conversation, at most `maximum_sessions` of them.

    With `makes_room` (conversations are stored), a full pool stops the longest-idle session that
    `is_attached` to no socket; it stays resumable (SPEC section 8, "Many conversations").
    """

    def __init__(
        self,
        *,
        maximum_sessions: int,
        store: SessionStore,
        registry: Registry[SessionSupervisor],
        turns: TaskSupervisor,
        max_turns: int | None,
        makes_room: bool,
        is_attached: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__("session pool", max_children=maximum_sessions)
        self._store = store
        self._registry = registry
        self._turns = turns
        self._max_turns = max_turns
        self._makes_room = makes_room
        self._is_attached = is_attached
        self._locks: dict[str, tuple[RLock, int]] = {}

    def start_session(
        self,
        handler: TurnHandler,
        turn_timeout_ms: int,
        *,
        session_id: str | None = None,
        place: ExitStack | None = None,
    ) -> str:
        """Start a new conversation and return its id.

        `place`: one that was held for it.  Raises TooManySessions, PersistenceError.
        Blocks on: disk.
        """
        session_id = session_id or new_session_id()
        with self._place() if place is None else place:
            turn_log = self._store.create(session_id)
            self._start(session_id, turn_log, handler, turn_timeout_ms)
        return session_id

    def resume_session(
        self,
        session_id: str,
        handler: TurnHandler,
        turn_timeout_ms: int,
        *,
        place: ExitStack | None = None,
    ) -> None:
        """Start a stored conversation again.

        `place`: one that was held for it.
        Raises AlreadyRunning, SessionNotFound, CorruptHistory, TooManySessions, PersistenceError.
        Blocks on: disk, another resume or delete of the same id.
        """
        with self.exclusive(session_id):
            if self.get(session_id) is not None:
                raise AlreadyRunning
            turn_log = self._store.open(session_id)  # before anyone is asked to make room for it
            with closed_on_error(turn_log), self._place() if place is None else place:
                self._start(session_id, turn_log, handler, turn_timeout_ms)

    def stop_session(self, session_id: str) -> bool:
        """Stop it; False when it does not run.  On return its id is free again."""
        with self.exclusive(session_id):
            return self.stop_child(session_id)

    def delete_session(self, session_id: str, let_go: Callable[[], None] = lambda: None) -> bool:
        """Stop it and remove its files; False when there was neither.  Raises PersistenceError.

        `let_go` is called in between, for who else has some of these files open.
        """
        with self.exclusive(session_id):
            ran = self.stop_child(session_id)
            let_go()
            return self._store.delete(session_id) or ran

    def hold_place(self) -> ExitStack:
        """Hold a place for a conversation that is started later; `close` gives it back.

        Raises TooManySessions.  Blocks on: the end of an idle session, if one makes room.
        """
        with ExitStack() as held:
            held.enter_context(self._place())
            return held.pop_all()

    @contextmanager
    def exclusive(self, session_id: str) -> Generator[None]:
        """Serialise what starts, stops and deletes one id; other ids go on."""
        lock, users = self._locks.get(session_id) or (RLock(), 0)
        self._locks[session_id] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            lock, users = self._locks[session_id]
            if users == 1:
                del self._locks[session_id]
            else:
                self._locks[session_id] = (lock, users - 1)

    def _start(
        self, session_id: str, turn_log: TurnLog, handler: TurnHandler, turn_timeout_ms: int
    ) -> None:
        """Start the pair over its open log, in a place that is held."""
        with closed_on_error(turn_log):
            pair = SessionSupervisor(
                session_id,
                turn_log,
                handler=handler,
                turn_timeout_ms=turn_timeout_ms,
                max_turns=self._max_turns,
                turns=self._turns,
            )
            pair.start()
        pair.on_end(lambda _: turn_log.close())
        try:
            self.adopt(session_id, pair)
        except TooManyChildren:
            raise TooManySessions from None
        self._registry.register(session_id, pair)

    @contextmanager
    def _place(self) -> Generator[None]:
        """Hold a place, made by stopping the longest-idle session if need be.

        Raises TooManySessions when every session is busy or attached.  Each turn of the loop stops
        another session, because a place that was made may be taken by somebody else.
        """
        with ExitStack() as held:
            while not self._reserved_in(held):
                longest = self._longest_idle()
                if longest is None:
                    raise TooManySessions
                # Chosen and marked without yielding: nobody else chooses it, no turn gets in.
                longest.activity.leaving = True
                log.info("session %s is idle and makes room for another", longest.session_id)
                self.stop_session(longest.session_id)
            yield

    def _reserved_in(self, held: ExitStack) -> bool:
        try:
            held.enter_context(self.reserve())
        except TooManyChildren:
            return False
        return True

    def _longest_idle(self) -> SessionSupervisor | None:
        if not self._makes_room or self._stopping:
            return None
        idle = [
            pair
            for session_id, pair in self._children.items()
            if pair.activity.idle and not self._is_attached(session_id)
        ]
        return min(idle, key=lambda pair: pair.activity.since, default=None)


@contextmanager
def closed_on_error(turn_log: TurnLog) -> Generator[None]:
    """Close the log when the block raises: nobody else will."""
    try:
        yield
    except BaseException:
        turn_log.close()
        raise
