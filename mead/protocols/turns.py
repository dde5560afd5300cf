"""A turn's handler, and the person behind a turn."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from mead.protocols.tools import ToolClass
from mead.turn import RequestedRoute, ToolLevel, Turn, TurnFacts


class Clock(Protocol):
    """The clock of one running turn."""

    def paused(self) -> AbstractContextManager[None]:
        """Stop the turn's deadline while the block runs (a person is asked).  Pauses nest."""
        ...


class TurnContext(NamedTuple):
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
    on_text: Callable[[str], None] | None = None
    """Watches the answer grow, beside the interaction and without a say; never waits or raises."""

    @property
    def is_watched(self) -> bool:
        """Whether anyone wants the answer as it grows."""
        return self.interaction is not None or self.on_text is not None

    def text_delta(self, text: str) -> None:
        """Show the next fragment of the answer to everyone who watches it grow."""
        if self.interaction is not None:
            self.interaction.text_delta(text)
        if self.on_text is not None:
            self.on_text(text)


class TurnHandler(Protocol):
    """Answers turns.  Shared by all sessions, so it keeps no state of a conversation.

    Called in a task greenlet of its own for each turn; killed when the turn is cancelled, times
    out or its session ends.  Raises TurnFailed to fail the turn with a reason; anything else it
    raises fails the turn with `handler_crashed`, and a result that is not text with `bad_output`.
    """

    def handle_turn(self, history: Sequence[Turn], text: str, context: TurnContext) -> str:
        """The answer to `text`; `history` holds the earlier turns, oldest first."""
        ...


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
