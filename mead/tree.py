"""The supervision tree.  Read this first: it is the only place where the parts are joined.

    Mead (rest_for_one, 10 restarts in 5 s)
    +-- ledger      what the providers were sent, counted
    +-- registry    session id -> running conversation
    +-- turns       the tasks that run handlers
    +-- sessions    one rest_for_one pair (history, server) per conversation
    +-- deck        tickets, and a channel per conversation that a device has open
    +-- hub         the MCP servers that Mead is a client of
    +-- models      model servers that Mead runs itself
    +-- control     the socket through which commands reach this process

A child that ends takes the ones below it along, never the ones above.  So a part may hold what
stands above it, and asks the tree at each use for what stands below.  Source: seed A1, SPEC 3.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast, runtime_checkable

from mead.actors.exits import Child
from mead.actors.registry import Registry
from mead.actors.supervisor import ChildSpec, Supervisor
from mead.actors.tasks import TaskSupervisor
from mead.config import Settings
from mead.deck.deck import Deck
from mead.protocols import SessionStore, Tool, ToolHub, ToolOutcome, UsageLedger
from mead.sessions.pool import SessionPool
from mead.sessions.supervisor import SessionSupervisor
from mead.turn import ToolLevel

MAX_RESTARTS: Final = 10
MAX_SECONDS: Final = 5.0


class Tree(Supervisor):
    """The root supervisor, with its children by name."""

    __slots__ = ()

    def __init__(
        self,
        settings: Settings,
        *,
        store: SessionStore,
        start_ledger: Callable[[], Child],
        start_deck: Callable[[], Child],
        start_hub: Callable[[], Child] | None = None,
        start_models: Callable[[], Child] | None = None,
        start_control: Callable[[], Child] | None = None,
    ) -> None:
        def start_sessions() -> Child:
            return SessionPool(
                maximum_sessions=settings.runtime.maximum_sessions,
                store=store,
                registry=self.registry,
                turns=cast("TaskSupervisor", self.child("turns")),
                max_turns=settings.storage.max_turns,
                makes_room=settings.storage.directory is not None,
                is_attached=lambda id_: self.deck is not None and self.deck.is_attached(id_),
            )

        specs = [
            ChildSpec(id="ledger", start=start_ledger),
            ChildSpec(id="registry", start=Registry[SessionSupervisor]),
            ChildSpec(id="turns", start=lambda: TaskSupervisor("turns")),
            ChildSpec(id="sessions", start=start_sessions),
            ChildSpec(id="deck", start=start_deck),
        ]
        if start_hub is not None:
            specs.append(ChildSpec(id="hub", start=start_hub))
        if start_models is not None:
            specs.append(ChildSpec(id="models", start=start_models))
        if start_control is not None:
            specs.append(ChildSpec(id="control", start=start_control))
        super().__init__(
            "mead",
            specs,
            strategy="rest_for_one",
            max_restarts=MAX_RESTARTS,
            max_seconds=MAX_SECONDS,
        )

    @property
    def ledger(self) -> UsageLedger | None:
        """The running ledger, or None while it restarts."""
        return cast("UsageLedger | None", self.child("ledger"))

    @property
    def registry(self) -> "Registry[SessionSupervisor]":
        """The running registry; an empty one while it restarts."""
        running = cast("Registry[SessionSupervisor] | None", self.child("registry"))
        return Registry() if running is None else running

    @property
    def sessions(self) -> SessionPool | None:
        """The running pool, or None while it restarts."""
        return cast("SessionPool | None", self.child("sessions"))

    @property
    def deck(self) -> Deck | None:
        """The running deck, or None while it restarts."""
        return cast("Deck | None", self.child("deck"))

    @property
    def running_turns(self) -> int:
        """How many turns run now."""
        turns = cast("TaskSupervisor | None", self.child("turns"))
        return 0 if turns is None else len(turns)

    def finish_commands(self, timeout_ms: float) -> None:
        """See Mead.finish_commands."""
        control = self.child("control")
        if isinstance(control, Finishing):
            control.finish(timeout_ms)

    @property
    def hub(self) -> ToolHub:
        """The running hub; one without tools while it restarts, or when none is configured."""
        running = cast("ToolHub | None", self.child("hub"))
        return _NO_TOOLS if running is None else running


@runtime_checkable
class Finishing(Protocol):
    """A child that can end what is under way before it is stopped."""

    def finish(self, timeout_ms: float) -> None: ...


class CurrentHub:
    """The hub that runs now, for parts that stand above it in the tree and outlive it."""

    def __init__(self, tree: Callable[[], Tree]) -> None:
        self._tree = tree

    def tools_for(self, level: ToolLevel | None) -> tuple[Tool, ...]:
        """See ToolHub."""
        return self._tree().hub.tools_for(level)

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], level: ToolLevel | None
    ) -> ToolOutcome:
        """See ToolHub."""
        return self._tree().hub.call_tool(name, arguments, level)


class _NoTools:
    """The hub of a Mead without MCP servers."""

    def tools_for(self, level: ToolLevel | None) -> tuple[Tool, ...]:
        del level
        return ()

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], level: ToolLevel | None
    ) -> ToolOutcome:
        del name, arguments, level
        return ToolOutcome(text="There is no such tool.", is_error=True)


_NO_TOOLS: Final = _NoTools()
