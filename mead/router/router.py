"""The turn handler that sends each turn to a local or a cloud model.

The route names a slot; a turn for an empty slot fails, and nothing ever moves from one slot to the
other by itself.  The router keeps no state, so conversations stay independent of each other.
Source: seed R, A4; SPEC section 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self, cast

from mead.actors.tasks import TaskSupervisor
from mead.config import ClassifierSettings
from mead.errors import TurnFailed
from mead.protocols import (
    Exchange,
    ModelReply,
    ModelRequest,
    Provider,
    StartedProvider,
    StreamingProvider,
    ToolHub,
    ToolProvider,
    TurnContext,
)
from mead.router.classifier import classify
from mead.router.progress import Progress
from mead.router.tool_loop import ToolRunner, run_tool_loop, visible_tools
from mead.router.transcript import Transcript
from mead.turn import RequestedRoute, Route, RouteSource, Turn, TurnFacts, TurnStatus

FORCED: Final = "asked for by the caller"
DEFAULT: Final = "set by runtime.default_route"

_UNAVAILABLE: Final[Mapping[Route, str]] = {
    "local": "local_unavailable",
    "cloud": "cloud_unavailable",
}


@dataclass(frozen=True, slots=True)
class _Slot:
    """A provider and what it can do beside `complete`."""

    provider: Provider
    converse: Callable[[ModelRequest], ModelReply] | None
    stream: Callable[[ModelRequest, Callable[[str], None]], ModelReply] | None
    wait_ready: Callable[[], None] | None

    @classmethod
    def of(cls, provider: Provider) -> Self:
        """The slot that `provider` fills."""
        talks = hasattr(provider, "converse")
        streams = hasattr(provider, "converse_stream")
        starts = hasattr(provider, "wait_ready")
        return cls(
            provider,
            cast(ToolProvider, provider).converse if talks else None,
            cast(StreamingProvider, provider).converse_stream if streams else None,
            cast(StartedProvider, provider).wait_ready if starts else None,
        )


class Router:
    """Chooses the slot of a turn, calls its provider and runs its tool loop."""

    def __init__(
        self,
        *,
        slots: Mapping[Route, Provider],
        hub: ToolHub | None,
        tasks: TaskSupervisor,
        classifier: ClassifierSettings,
        default_route: RequestedRoute,
        sender: object,
    ) -> None:
        """`tasks` runs the tool calls; `sender` is whose `signals.route` is emitted."""
        self._slots = {route: _Slot.of(provider) for route, provider in slots.items()}
        self._hub = hub
        self._tasks = tasks
        self._classifier = classifier
        self._default_route: RequestedRoute = default_route
        self._sender = sender

    def handle_turn(self, history: Sequence[Turn], text: str, context: TurnContext) -> str:
        """See TurnHandler.  Raises TurnFailed.

        Emits `signals.route` once, also for a turn that fails with a reason; a provider that
        raises anything else, and a turn that is killed, emit nothing.
        """
        exchanges = replayable(history)
        route, source, reason = self._choose(exchanges, text, context.route)
        slot = self._slots.get(route)
        provider = None if slot is None else slot.provider
        facts = TurnFacts(
            route=route,
            route_source=source,
            route_reason=reason,
            provider=None if provider is None else provider.name,
            model=None if provider is None else provider.model,
            host=None if provider is None else provider.host,
        )
        progress = Progress(context.report, facts)
        try:
            _tell_route(slot, context, progress)
            if slot is None:
                raise TurnFailed(
                    _UNAVAILABLE[route], f"no model fills the slot {route} (router.slots.{route})"
                )
            request = ModelRequest(history=exchanges, prompt=text)
            output = self._answer(slot, request, context, progress)
        except TurnFailed:
            progress.announce(self._sender, "error", context.session_id)
            raise
        progress.announce(self._sender, "ok", context.session_id)
        return output

    def _choose(
        self, exchanges: tuple[Exchange, ...], text: str, asked: RequestedRoute | None
    ) -> tuple[Route, RouteSource, str]:
        """The slot, who decided that, and why."""
        if asked == "local" or asked == "cloud":
            return asked, "forced", FORCED
        default = self._default_route
        if asked is None and default != "auto":
            return default, "default", DEFAULT
        verdict = classify(
            text,
            turns=len(exchanges),
            history_characters=sum(len(each.prompt) + len(each.answer) for each in exchanges),
            settings=self._classifier,
        )
        return verdict.route, "classified", verdict.reason

    def _answer(
        self, slot: _Slot, request: ModelRequest, context: TurnContext, progress: Progress
    ) -> str:
        """The text of every model call of the turn.  Raises TurnFailed."""
        transcript = Transcript(context.text_delta if context.is_watched else None)
        hub = self._hub
        tools = () if slot.converse is None else visible_tools(hub, context)

        def call_model(request: ModelRequest) -> ModelReply:
            if slot.stream is not None and context.is_watched:
                reply = slot.stream(request, transcript.add)
            elif slot.converse is not None and tools:
                reply = slot.converse(request)
            else:
                reply = slot.provider.complete(request)
            progress.count(reply, reply.host or slot.provider.host)
            transcript.end_call(reply.text)
            return reply

        if tools and hub is not None:
            runner = ToolRunner(hub=hub, tools=tools, context=context, tasks=self._tasks)
            run_tool_loop(replace(request, tools=tools), call_model, runner.run)
        else:
            call_model(request)
        return transcript.text


def _tell_route(slot: _Slot | None, context: TurnContext, progress: Progress) -> None:
    """Tell the person where the turn goes, once that is known.

    Raises TurnFailed when the model's server does not come up; the person is told first.
    """
    failed = None
    if slot is not None and slot.wait_ready is not None:
        try:
            slot.wait_ready()
            progress.goes_to(slot.provider.host)
        except TurnFailed as error:
            failed = error
    if context.interaction is not None:
        context.interaction.routed(progress.facts)
    if failed is not None:
        raise failed


def replayable(history: Sequence[Turn]) -> tuple[Exchange, ...]:
    """The earlier turns that a model is shown: completed ones whose answer is text."""
    return tuple(
        Exchange(prompt=turn.input, answer=turn.output)
        for turn in history
        if turn.status is TurnStatus.COMPLETED and turn.output and not turn.output.isspace()
    )
