"""The seams between the parts of Mead: who calls each, from which greenlet, and what it may raise.

The parts of layer 4 (sessions, router, providers, ledger, deck, both sides of MCP) know each other
only through this file; `tree.py` joins them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from mead.turn import RequestedRoute, ToolLevel, Turn, TurnFacts, Usage

# -- a turn and its handler ------------------------------------------------------------------------


class Clock(Protocol):
    """The clock of one running turn."""

    def paused(self) -> AbstractContextManager[None]:
        """Stop the turn's deadline while the block runs (a person is asked).  Pauses nest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What a handler is told about the turn it answers."""

    session_id: str | None
    turn_id: str
    route: RequestedRoute | None
    """What the caller asked for; None leaves it to `runtime.default_route`."""
    tools: ToolLevel | None
    interaction: "Interaction | None"
    clock: Clock
    report: Callable[[TurnFacts], None]
    """Keeps the facts known so far: they stay on the turn even if it fails or times out."""


class TurnHandler(Protocol):
    """Answers turns.  Shared by all sessions, so it keeps no state of a conversation.

    Called in a task greenlet of its own for each turn; killed when the turn is cancelled, times
    out or its session ends.  Raises TurnFailed to fail the turn with a reason; anything else it
    raises fails the turn with `handler_crashed`, and a result that is not text with `bad_output`.
    """

    def handle_turn(self, history: Sequence[Turn], text: str, context: TurnContext) -> str:
        """The answer to `text`; `history` holds the earlier turns, oldest first."""
        ...


# -- the person behind a turn ----------------------------------------------------------------------

ToolClass = Literal["read", "effect"]
CallStatus = Literal["ok", "error", "denied", "cancelled", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call as a person is shown it."""

    call_id: str
    """A UUID that Mead mints; a provider's own ids stay inside the router."""
    server: str
    tool: str
    name: str
    """`server__tool`, as the model sees it."""
    kind: ToolClass
    arguments: Mapping[str, Any]


@runtime_checkable
class Interaction(Protocol):
    """The person behind a turn: sees it happen and decides what may run.  Source: seed A9.

    Called from the turn's task and its tool tasks.  `authorize` and `choose` block until there is
    an answer, with the turn's clock paused by the caller; being killed there means that the turn
    ended.
    """

    def routed(self, facts: TurnFacts) -> None:
        """The turn goes to this route, provider, model and host."""
        ...

    def text_delta(self, text: str) -> None:
        """The next fragment of the answer."""
        ...

    def authorize(self, use: ToolUse, cancel: Callable[[], None]) -> bool:
        """Whether the call may run.  `cancel()` stops it later, from any greenlet."""
        ...

    def call_finished(self, call_id: str, status: CallStatus, summary: str) -> None:
        """The call ended, whether it ran or not."""
        ...

    def choose(self, prompt: str, options: tuple[str, ...]) -> str | None:
        """The option the person chose, or None when nobody did in time."""
        ...


# -- tools -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may be shown."""

    name: str
    """`server__tool`; a built-in tool has no `__`."""
    server: str
    tool: str
    kind: ToolClass
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments, an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a model is told about a call."""

    text: str
    is_error: bool = False


class ToolHub(Protocol):
    """The tools of the configured MCP servers, under the operator's policy.  Source: seed A6.

    Called from turn tasks and tool tasks; being killed inside `call_tool` cancels the call.
    """

    def tools_for(self, level: ToolLevel | None) -> tuple[Tool, ...]:
        """The tools that a turn with this `tools` option may see, in a stable order."""
        ...

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], level: ToolLevel | None
    ) -> ToolOutcome:
        """Run it.  Never raises for a denied, unknown or failed call: that is an error outcome.

        Blocks on: the tool server, bounded by the server's `call_timeout_ms`.
        """
        ...


# -- models ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call that a model asked for.  `id` is the provider's own."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    fault: str | None = None
    """Why the arguments could not be read (broken JSON); such a call is never run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer to a ToolRequest, in the model's order."""

    id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One answer of a model: what a plain call and a folded stream both become."""

    text: str
    stop_reason: str
    """`end_turn`, `max_tokens`, `tool_use`, `stop_sequence`, or the provider's own word."""
    tool_requests: tuple[ToolRequest, ...] = ()
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()
    echo: Any = None
    """The answer as the provider wants it back inside a tool loop (thinking included); opaque."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier prompt and its answer, text only."""

    prompt: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRound:
    """One round of a tool loop: what the model asked for and what it was told."""

    reply: ModelReply
    answers: tuple[ToolAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything one model call depends on."""

    history: tuple[Exchange, ...]
    prompt: str
    tools: tuple[Tool, ...] = ()
    rounds: tuple[ToolRound, ...] = ()


class Provider(Protocol):
    """A model behind one slot.  Source: seed A4, SPEC section 5.

    Called from turn tasks, any number at once; being killed inside a call closes its connection.
    Raises TurnFailed with a reason of SPEC section 5 and a message without secret or prompt.
    May also have `converse(request) -> ModelReply` (takes `tools` and `rounds`) and
    `converse_stream(request, on_text) -> ModelReply` (ToolProvider, StreamingProvider).
    Blocks on: the network, within its own timeouts.
    """

    @property
    def name(self) -> str:
        """The short name: `anthropic`, `ollama`, `openai`, `embedded`, `scripted`."""
        ...

    @property
    def model(self) -> str:
        """The model asked for."""
        ...

    @property
    def host(self) -> str | None:
        """`address:port` that calls go to; None when no network is used."""
        ...

    def complete(self, request: ModelRequest) -> ModelReply:
        """Answer a request without tools."""
        ...


@runtime_checkable
class ToolProvider(Provider, Protocol):
    """A provider whose model can ask for tools."""

    def converse(self, request: ModelRequest) -> ModelReply:
        """Answer a request that may carry tools and earlier rounds."""
        ...


@runtime_checkable
class StreamingProvider(Provider, Protocol):
    """A provider that shows its answer as it grows."""

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        """Like `converse` (tools and rounds included), handing each text fragment to `on_text`."""
        ...


# -- stored conversations --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnAppended:
    """A turn started."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class TurnReplaced:
    """The newest turn was closed."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class TurnsInterrupted:
    """Turns that were still running became interrupted, at this time."""

    at: datetime


TurnEvent = TurnAppended | TurnReplaced | TurnsInterrupted


class TurnLog(Protocol):
    """One conversation in the store; used by its History alone.  Source: seed A8."""

    def replay(self) -> list[Turn]:
        """The turns as the events so far make them.  Raises CorruptHistory, PersistenceError."""
        ...

    def write(self, event: TurnEvent) -> bool:
        """Record it; whether it is as durable as `storage.fsync` promises.

        Raises PersistenceError; nothing is recorded then.  Blocks on: disk.
        """
        ...

    def compact(self, turns: Sequence[Turn]) -> tuple[int, int]:
        """Rewrite as exactly these turns; bytes before and after.  Raises PersistenceError."""
        ...

    def wants_compaction(self) -> bool:
        """Whether the file has outgrown `storage.compact_after_bytes` and its last compaction."""
        ...

    def close(self) -> None:
        """Let go of the file.  Never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """One row of `list_sessions`."""

    session_id: str
    updated_at: datetime
    running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What became of a damaged conversation."""

    damage: str | None
    """What was wrong; None when there was nothing to repair and nothing was done."""
    turns: int
    """Turns that are readable, and now in place."""
    bytes_before: int
    """Size of the old file, all of which is kept beside the new one."""
    bytes_after: int


class SessionStore(Protocol):
    """The stored conversations.  A database could take the files' place.  Source: seed A8."""

    def create(self, session_id: str) -> TurnLog:
        """A new, empty log.  Raises PersistenceError."""
        ...

    def open(self, session_id: str) -> TurnLog:
        """The log of a stored conversation, its torn tail cut.

        Raises SessionNotFound, CorruptHistory, PersistenceError.  Blocks on: disk.
        """
        ...

    def load(self, session_id: str) -> list[Turn]:
        """The turns of a stopped conversation; changes nothing.  Raises as `open`."""
        ...

    def delete(self, session_id: str) -> bool:
        """Remove every file of the id; whether there was one.  Raises PersistenceError."""
        ...

    def entries(self) -> Iterator[StoredSession]:
        """The stored conversations, newest first, from names and times alone.

        Raises PersistenceError.
        """
        ...

    def repair(self, session_id: str) -> RepairReport:
        """Make a damaged conversation usable: its valid beginning in place, the old file kept.

        Raises SessionNotFound, AlreadyRunning, PersistenceError.  Blocks on: disk.
        """
        ...


# -- what it cost ----------------------------------------------------------------------------------


class UsageLedger(Protocol):
    """What the providers were sent and what came back, counted.  Source: seed A5.

    Called from any greenlet; the readers never wait for the disk.
    """

    def usage(self, recent: int) -> dict[str, Any]:
        """`totals`, `routes` (per route, provider and model), `days`, `recent` (newest first)."""
        ...

    def session_usage(self, session_id: str) -> dict[str, Any]:
        """The totals of one session.  Raises SessionNotFound when nothing was counted for it."""
        ...

    def forget(self, session_id: str) -> None:
        """Drop the row of a deleted session; the other totals keep what it added."""
        ...


# -- the public calls, as the faces use them -------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReceipt:
    """What `submit` gives back: the answer and the closed turn."""

    output: str
    turn: Turn


class SessionAPI(Protocol):
    """The public calls of `mead.api.Mead` that the MCP face, the deck and the commands use.

    Each raises the MeadError that its docstring there names.
    """

    def start_session(
        self, *, handler: str | None = None, turn_timeout_ms: int | None = None
    ) -> str: ...

    def submit(
        self,
        session_id: str,
        text: str,
        *,
        route: str | None = None,
        tools: str | None = None,
        interaction: Interaction | None = None,
        turn_id: str | None = None,
    ) -> TurnReceipt: ...

    def cancel_turn(self, session_id: str, turn_id: str | None = None) -> None: ...

    def history(self, session_id: str) -> list[Turn]: ...

    def stop_session(self, session_id: str) -> None: ...

    def resume_session(
        self, session_id: str, *, handler: str | None = None, turn_timeout_ms: int | None = None
    ) -> str: ...

    def delete_session(self, session_id: str) -> None: ...

    def list_sessions(self) -> list[StoredSession]: ...

    def compact_session(self, session_id: str) -> tuple[int, int]: ...

    def usage(self, *, recent: int = 20) -> dict[str, Any]: ...

    def session_usage(self, session_id: str) -> dict[str, Any]: ...
