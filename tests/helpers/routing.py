"""What a router is joined to, in memory: a hub of plain functions, a person, a turn's context."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mead.actors.tasks import TaskSupervisor
from mead.config import ClassifierSettings
from mead.ids import new_uuid
from mead.protocols import (
    CallStatus,
    Provider,
    Tool,
    ToolAnswer,
    ToolClass,
    ToolHub,
    ToolOutcome,
    ToolUse,
    TurnContext,
)
from mead.providers.scripted import ScriptedProvider
from mead.router.router import Router
from mead.turn import RequestedRoute, Route, ToolLevel, Turn, TurnFacts, TurnStatus, utc_now

Function = Callable[[Mapping[str, Any]], str | ToolOutcome]


class Clock:
    """A turn's clock that only counts its pauses."""

    def __init__(self) -> None:
        self.depth = 0
        self.pauses = 0

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        self.depth += 1
        self.pauses += 1
        try:
            yield
        finally:
            self.depth -= 1


class Bench:
    """A tool hub whose tools are functions; it never shows an effect tool without the level."""

    def __init__(self, **tools: tuple[ToolClass, Function]) -> None:
        self.functions = tools
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.levels: list[ToolLevel | None] = []

    def tools_for(self, level: ToolLevel | None) -> tuple[Tool, ...]:
        return tuple(
            Tool(
                name=name,
                server=name.partition("__")[0],
                tool=name.partition("__")[2],
                kind=kind,
                description="",
                schema={"type": "object"},
            )
            for name, (kind, _) in self.functions.items()
            if kind == "read" or level == "effect"
        )

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], level: ToolLevel | None
    ) -> ToolOutcome:
        self.calls.append((name, arguments))
        self.levels.append(level)
        result = self.functions[name][1](arguments)
        return result if isinstance(result, ToolOutcome) else ToolOutcome(text=result)


class Person:
    """Someone who watches a turn and decides by the functions that a test supplies."""

    def __init__(
        self,
        *,
        allows: Callable[[ToolUse, Callable[[], None]], bool] = lambda use, cancel: True,
        chooses: Callable[[str, tuple[str, ...]], str | None] = lambda prompt, options: options[0],
    ) -> None:
        self._allows = allows
        self._chooses = chooses
        self.events: list[tuple[Any, ...]] = []
        self.uses: list[ToolUse] = []

    def routed(self, facts: TurnFacts) -> None:
        self.events.append(("routed", facts))

    def text_delta(self, text: str) -> None:
        self.events.append(("text", text))

    def authorize(self, use: ToolUse, cancel: Callable[[], None]) -> bool:
        self.uses.append(use)
        self.events.append(("asked", use.name))
        return self._allows(use, cancel)

    def call_finished(self, call_id: str, status: CallStatus, summary: str) -> None:
        name = next(use.name for use in self.uses if use.call_id == call_id)
        self.events.append(("finished", name, status, summary))

    def choose(self, prompt: str, options: tuple[str, ...]) -> str | None:
        self.events.append(("choose", prompt, options))
        return self._chooses(prompt, options)

    @property
    def text(self) -> str:
        """Everything this person was shown of the answer."""
        return "".join(event[1] for event in self.events if event[0] == "text")

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        """The events of one kind, in order."""
        return [event for event in self.events if event[0] == kind]


@dataclass
class Setting:
    """A turn's context and what was reported into it."""

    route: RequestedRoute | None = "local"
    tools: ToolLevel | None = None
    person: Person | None = None
    on_text: Callable[[str], None] | None = None
    session_id: str | None = None
    clock: Clock = field(default_factory=Clock)
    reports: list[TurnFacts] = field(default_factory=list)

    @property
    def context(self) -> TurnContext:
        return TurnContext(
            session_id=self.session_id,
            turn_id=new_uuid(),
            route=self.route,
            tools=self.tools,
            interaction=self.person,
            on_text=self.on_text,
            clock=self.clock,
            report=self.reports.append,
        )

    @property
    def facts(self) -> TurnFacts:
        """What was reported last."""
        return self.reports[-1]


def make_router(
    slots: Mapping[Route, Provider],
    *,
    hub: ToolHub | None = None,
    tasks: TaskSupervisor | None = None,
    default_route: RequestedRoute = "auto",
    classifier: ClassifierSettings | None = None,
    sender: object = None,
) -> Router:
    """A router with the defaults of the settings."""
    return Router(
        slots=slots,
        hub=hub,
        tasks=tasks or TaskSupervisor("tool calls of a test"),
        classifier=classifier or ClassifierSettings(),
        default_route=default_route,
        sender=sender,
    )


def turn(text: str, output: str | None, status: TurnStatus = TurnStatus.COMPLETED) -> Turn:
    """An earlier turn."""
    return Turn(id=new_uuid(), input=text, started_at=utc_now()).closed(status, output=output)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def one_round(*calls: Mapping[str, Any]) -> ScriptedProvider:
    """A model that asks for these calls at once, and then says `done`."""
    return ScriptedProvider([{"tool_calls": list(calls)}, "done"])


def answers(provider: ScriptedProvider) -> tuple[ToolAnswer, ...]:
    """What the model was told in the first round."""
    return provider.requests[-1].rounds[0].answers


def run(provider: ScriptedProvider, hub: Bench, setting: Setting | None = None) -> str:
    router = make_router({"local": provider}, hub=hub)
    return router.handle_turn((), "hi", (setting or Setting(tools="effect")).context)


def texts(provider: ScriptedProvider) -> list[str]:
    return [answer.text for answer in answers(provider)]
