"""Models: what a provider is asked, what it answers, and what it can do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from mead.protocols.tools import Tool
from mead.turn import Usage


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
    host: str | None = None
    """Where it was asked for, from a provider whose `host` changes."""
    echo: Any = None
    """The answer as the provider wants it back inside a tool loop (thinking included); opaque."""


class Exchange(NamedTuple):
    """An earlier prompt and its answer, text only.

    (A named tuple, because each turn makes one of every turn before it.)
    """

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
class StartedProvider(Provider, Protocol):
    """A provider whose server may not be up yet, so that its `host` is not known."""

    def wait_ready(self) -> None:
        """Return once `host` is known.  Raises TurnFailed.  Blocks on: the server's start."""
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
