"""The parts of one `Mead`, made from its settings and joined by its tree."""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Literal, get_args

from mead.actors.exits import Child
from mead.actors.green import is_patched
from mead.actors.supervisor import ChildSpec, Supervisor
from mead.actors.tasks import TaskSupervisor
from mead.config import Settings
from mead.control.server import Call, ControlServer
from mead.deck.deck import Deck
from mead.deck.logins import Logins
from mead.errors import ConfigurationError, NotPatched
from mead.handlers import Handlers, configured
from mead.ledger.journal import Journal
from mead.ledger.ledger import Ledger, LedgerHandle
from mead.ledger.totals import Totals
from mead.limits import raise_file_limit
from mead.mcp.client.hub import Hub
from mead.protocols import Provider, SessionAPI, SessionStore, TurnHandler
from mead.providers.embedded import EmbeddedProvider
from mead.providers.factory import boot_check, build_provider
from mead.router.router import Router
from mead.sessions.echo import EchoHandler
from mead.sessions.places import Places
from mead.storage import lock
from mead.storage.directory import probe_directory
from mead.storage.log import RecordLog
from mead.storage.memory_store import MemoryStore
from mead.storage.session_store import FileStore
from mead.tree import CurrentHub, Tree
from mead.turn import RequestedRoute, Route

log = logging.getLogger(__name__)


class Parts:
    """Everything that a `Mead` holds; nothing runs before `start` or after `stop`."""

    store: SessionStore
    logins: Logins
    """They outlive a deck that crashes."""
    tree: Tree

    def __init__(
        self,
        api: SessionAPI,
        settings: Settings,
        *,
        providers: Mapping[Route, Provider] | None,
        handlers: Mapping[str, TurnHandler] | None,
        control_calls: Callable[[], Mapping[str, Call]],
    ) -> None:
        """Make what needs no disk and no network.  Raises ConfigurationError.

        `api` is the `Mead` itself: what the deck calls, and the sender of signals.
        """
        self._api = api
        self._settings = settings
        self._control_calls = control_calls
        self._tool_tasks = TaskSupervisor("tool calls")
        self.calls = TaskSupervisor("calls")
        """Calls that go on when their caller is killed."""
        self._held = ExitStack()
        self._lock: lock.DirectoryLock | None = None
        self._providers: dict[Route, Provider] = {
            slot: build_provider(slot, chosen) for slot, chosen in settings.router.slots.items()
        }
        self._providers.update(providers or {})
        self._default_route: RequestedRoute = _default(
            settings, "default_route", "local" if set(self._providers) == {"local"} else "auto"
        )
        self.handlers = Handlers(
            {
                "router": Router(
                    slots=self._providers,
                    hub=CurrentHub(lambda: self.tree),
                    tasks=self._tool_tasks,
                    classifier=settings.router.classifier,
                    default_route=self._default_route,
                    sender=api,
                ),
                "echo": EchoHandler(),
                **configured(settings.runtime.handlers),
                **(handlers or {}),
            },
            default=_default(settings, "turn_handler", "router" if self._providers else "echo"),
        )

    def start(self, lock_wait_ms: float) -> None:
        """Take the storage directory and start the tree.  See Mead.start."""
        if not is_patched():
            raise NotPatched
        trouble = raise_file_limit(self._settings)
        if trouble is not None:
            log.warning("%s", trouble)
        with ExitStack() as held:
            store = self.store = self._open_store(held, lock_wait_ms)
            self.logins = Logins(store.logins_file() if isinstance(store, FileStore) else None)
            self._check_slots()
            if not self._providers and self._settings.runtime.turn_handler == "echo":
                log.info("no slot is filled (router.slots): every turn is echoed")
            for provider in self._providers.values():
                close = getattr(provider, "close", None)
                if callable(close):
                    held.callback(close)
            held.callback(self._tool_tasks.stop)
            held.callback(self.calls.stop)
            self.tree = self._new_tree()
            held.callback(self.tree.stop)
            self.tree.start()
            self._held = held.pop_all()

    def check(self) -> None:
        """What `start` refuses, the lock aside.  See Mead.check."""
        self._check_slots()
        if self._settings.storage.directory is not None:
            probe_directory(self._settings.storage.directory)

    def stop(self) -> None:
        """Stop the tree and let go of the storage directory.  See Mead.stop."""
        self._held.close()

    @property
    def keeps(self) -> bool:
        """Whether what is written will be found: the storage directory is still in its place."""
        return self._lock is None or self._lock.intact

    def compact_stopped(self, session_id: str) -> tuple[int, int]:
        """Compact a conversation that does not run.  See Mead.compact_session."""
        turn_log = self.store.open(session_id)
        try:
            turns = turn_log.replay()
            keep = self._settings.storage.max_turns
            return turn_log.compact(turns if keep is None else turns[-keep:])
        finally:
            turn_log.close()

    def _open_store(self, held: ExitStack, lock_wait_ms: float) -> SessionStore:
        storage = self._settings.storage
        if storage.directory is None:
            return MemoryStore()
        said: list[bool] = []

        def waiting() -> None:
            if not said:
                said.append(True)
                log.warning(
                    "storage.directory is in use by another process; waiting up to %d s for it",
                    lock_wait_ms / 1000,
                )

        self._lock = held.enter_context(
            lock.acquire(storage.directory, lock_wait_ms / 1000, waiting)
        )
        store = FileStore(storage)
        held.callback(store.close)
        return store

    def _check_slots(self) -> None:
        """Refuse the boot when the slot `local` is not local.  Blocks on: DNS, network, bounded."""
        faults: list[str] = []
        for slot, provider in self._providers.items():
            check = boot_check(slot, provider)
            if check.fault is not None:
                faults.append(f"router.slots.{slot}: {check.fault}")
            if check.warning is not None:
                log.warning("router.slots.%s: %s", slot, check.warning)
        if faults:
            raise ConfigurationError(faults)

    def _new_tree(self) -> Tree:
        return Tree(
            self._settings,
            store=self.store,
            start_ledger=self._start_ledger,
            start_deck=self._start_deck,
            start_hub=self._start_hub if self._settings.mcp.servers else None,
            start_models=self._start_models,
            start_control=self._start_control if self._settings.storage.directory else None,
        )

    def _start_ledger(self) -> Child:
        store, storage = self.store, self._settings.storage
        if not isinstance(store, FileStore):
            return LedgerHandle(Ledger(self._api, None))

        def open_journal(totals: Totals) -> Journal[RecordLog]:
            return Journal(
                store.open_journal(totals.apply, totals.clear),
                sync=storage.fsync in ("always", "turn"),
                maximum_bytes=storage.ledger_journal_max_bytes,
                renew=store.renew_journal,
                appended=store.sync_soon,
            )

        return LedgerHandle(Ledger(self._api, open_journal))

    def _start_deck(self) -> Child:
        settings, store = self._settings, self.store
        return Deck(
            settings.deck,
            api=self._api,
            places=Places(
                lambda: self.tree.sessions,
                self.handlers.find(None),
                settings.runtime.turn_timeout_ms,
            ),
            find_session=lambda session_id: self.tree.registry.lookup(session_id),
            files=store.event_files() if isinstance(store, FileStore) else None,
            maximum_sessions=settings.runtime.maximum_sessions,
            describe=self._describe,
            logins=self.logins,
        ).start()

    def _describe(self) -> dict[str, Any]:
        """The slots, as a person is shown where a turn would go."""
        slots = {
            slot: {"provider": provider.name, "model": provider.model, "host": provider.host}
            for slot, provider in self._providers.items()
        }
        return {
            "slots": {slot: slots.get(slot) for slot in get_args(Route)},
            "default_route": self._default_route,
        }

    def _start_hub(self) -> Child:
        return Hub(self._settings.mcp.servers).start()

    def _start_models(self) -> Child:
        specs = [
            ChildSpec(id=slot, start=provider.start_server)
            for slot, provider in self._providers.items()
            if isinstance(provider, EmbeddedProvider)
        ]
        return Supervisor(
            "models", specs, strategy="one_for_one", max_restarts=3, max_seconds=5
        ).start()

    def _start_control(self) -> Child:
        directory = self._settings.storage.directory
        assert directory is not None  # noqa: S101 - see _new_tree
        return ControlServer(directory, self._control_calls()).start()


def _default(
    settings: Settings, name: Literal["turn_handler", "default_route"], filled: Any
) -> Any:
    """What somebody chose, else what follows from the slots, those filled in code included."""
    chosen = settings.sources.get(f"runtime.{name}", "default") != "default"
    return getattr(settings.runtime, name) if chosen else filled
