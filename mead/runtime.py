"""The lifetime of a `Mead`: starting and stopping its parts, and reaching those that run."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from mead.actors.exits import Exit
from mead.actors.green import RLock
from mead.actors.tasks import TaskKilled
from mead.assembly import Parts
from mead.config import Settings
from mead.control.server import Call
from mead.errors import LedgerUnavailable, SessionStopped
from mead.protocols import Listener, Provider, SessionAPI, TurnHandler, UsageLedger
from mead.sessions.pool import SessionPool
from mead.turn import Route

Value = TypeVar("Value")


class Runtime:
    """Starts, stops and holds the parts; only ever the base of `mead.api.Mead`."""

    def __init__(
        self,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        providers: Mapping[Route, Provider] | None = None,
        handlers: Mapping[str, TurnHandler] | None = None,
    ) -> None:
        """Take the settings; nothing starts yet.

        `providers` fill slots with ready-made providers, beside or in place of configured ones;
        `handlers` add turn handlers by name.  Raises ConfigurationError.
        """
        if not isinstance(settings, Settings):
            settings = Settings.build(settings or {})
        self.settings = settings
        self._parts = Parts(
            cast("SessionAPI", self),  # the calls are those of its subclass `Mead`
            settings,
            providers=providers,
            handlers=handlers,
            control_calls=self._control_calls,
        )
        self._watchers: list[Callable[[Exit], Any]] = []
        self.listener: Listener | None = None
        """Where the web process that runs this listens, if one does; commands ask for it."""
        self._started = False
        self._lifetime = RLock()
        """Held by a start or a stop, so that one never sees the other half done."""

    def start(self, *, lock_wait_ms: float = 0) -> Self:
        """Start the tree.

        Waits up to `lock_wait_ms` for another process to let go of the storage directory.
        Raises NotPatched, StorageLocked, ConfigurationError, PersistenceError.
        Blocks on: disk, and the start of each part.
        """
        with self._lifetime:
            if not self._started:
                self._parts.start(lock_wait_ms)
                self._started = True
                self._parts.tree.on_end(self._tree_ended)
        return self

    def check(self) -> None:
        """Find out whether `start` would be refused, without starting and without the lock.

        Creates the storage directory if it is absent.  Raises ConfigurationError, PersistenceError.
        Blocks on: disk, DNS and network, bounded.
        """
        self._parts.check()

    def stop(self) -> None:
        """Stop every part in reverse order and let go of the storage directory.  Idempotent.

        Running turns end as interrupted; their callers get SessionStopped.
        """
        with self._lifetime:
            if self._started:
                self._started = False
                self._parts.stop()

    def finish_commands(self, timeout_ms: float) -> None:
        """Take no more calls on the control socket, and wait for those of other commands.

        For a command that holds the directory: others may be in the middle of a turn through it.
        """
        if self._started:
            self._parts.tree.finish_commands(timeout_ms)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        """Have `callback(exit)` called if the tree gives up; a library never ends its process."""
        self._watchers.append(callback)

    def status(self) -> dict[str, Any]:
        """Whether it takes turns, and how much it holds: numbers only, for health and metrics."""
        pool = self._parts.tree.sessions if self._started else None
        deck = self._parts.tree.deck if self._started else None
        return {
            "ready": pool is not None and self._parts.keeps,
            "leaving": deck is not None and deck.is_draining,
            "sessions": 0 if pool is None else len(pool),
            "turns": self._parts.tree.running_turns if self._started else 0,
        }

    # -- inside ------------------------------------------------------------------------------------

    def _pool(self) -> SessionPool:
        """The running pool.  Raises SessionStopped when Mead does not run."""
        pool = self._parts.tree.sessions if self._started else None
        if pool is None:
            raise SessionStopped("Mead is not running; start() it first")
        return pool

    def _apart(self, call: Callable[[], Value]) -> Value:
        """Make a call in a greenlet of its own, so that it does not end half way with its caller.

        A caller may be the session's own turn, which a stop kills.
        """
        try:
            return self._parts.calls.start(call, name="call").result()
        except TaskKilled:
            raise SessionStopped("Mead was stopped meanwhile") from None

    def _ledger(self) -> UsageLedger:
        ledger = self._parts.tree.ledger if self._started else None
        if ledger is None:
            raise LedgerUnavailable
        return ledger

    def _control_calls(self) -> Mapping[str, Call]:
        """What may be called through the control socket."""
        return {}

    def _tree_ended(self, exit_: Exit) -> None:
        if self._started:
            for callback in self._watchers:
                callback(exit_)
