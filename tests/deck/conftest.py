"""A runtime with a scripted model and scripted tools, and devices at its conversations."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from mead.actors.tasks import TaskSupervisor
from mead.api import Mead
from mead.config import ClassifierSettings
from mead.protocols import Tool, ToolOutcome
from mead.providers.scripted import ScriptedProvider
from mead.router.router import Router
from mead.storage.disk import RealDisk
from mead.storage.event_files import EventFiles
from tests.deck.device import Device, Devices, everyone
from tests.deck.log_files import files_in

MeadMaker = Callable[..., Mead]
HELLO = [{"chunks": ["Hel", "lo"], "usage": {"input": 3, "output": 4}}]


class Tools:
    """A hub whose tools are functions."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[Tool, Callable[..., str]]] = {}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    def add(self, name: str, kind: str, run: Callable[..., str] = lambda **_: "done") -> None:
        server, tool = name.split("__")
        shown = Tool(
            name=name,
            server=server,
            tool=tool,
            kind=kind,
            description="",
            schema={"type": "object"},
        )
        self._tools[name] = (shown, run)

    def tools_for(self, level: str | None) -> tuple[Tool, ...]:
        tools = [tool for tool, _ in self._tools.values()]
        return tuple(tool for tool in tools if tool.kind == "read" or level == "effect")

    def call_tool(self, name: str, arguments: Mapping[str, Any], level: object) -> ToolOutcome:
        self.calls.append((name, arguments))
        return ToolOutcome(text=self._tools[name][1](**arguments))


@pytest.fixture
def tools() -> Tools:
    tools = Tools()
    tools.add("notes__read", "read")
    tools.add("notes__write", "effect")
    tools.add("mail__send", "effect")
    return tools


@pytest.fixture
def make_mead(tools) -> Iterator[MeadMaker]:
    """`make_mead(script, directory, runtime={...}, **deck settings)`, stopped at the end."""
    with ExitStack() as held:

        def make(
            script: Any = HELLO, directory: Any = None, *, runtime: Any = None, **deck: Any
        ) -> Mead:
            settings: dict[str, Any] = {
                "deck": deck,
                "runtime": {"turn_handler": "router", "default_route": "local", **(runtime or {})},
            }
            if directory is not None:
                settings["storage"] = {"directory": str(directory)}
            tasks = TaskSupervisor()
            held.callback(tasks.stop)
            return held.enter_context(
                Mead(settings, handlers={"router": router(script, tools, tasks)})
            )

        yield make


def router(model: Any, tools: Tools, tasks: TaskSupervisor) -> Router:
    """The real one, over a provider (or the script of one) and scripted tools."""
    provider = model if hasattr(model, "complete") else ScriptedProvider(model)
    return Router(
        slots={"local": provider},
        hub=tools,
        tasks=tasks,
        classifier=ClassifierSettings(),
        default_route="local",
        sender=None,
    )


@pytest.fixture
def devices() -> Iterator[Devices]:
    with everyone() as devices:
        yield devices


@pytest.fixture
def device(make_mead, devices) -> Device:
    """One device at a new conversation of a Mead without storage."""
    return devices.at(*opened(make_mead())).come()


@pytest.fixture
def at(make_mead, devices):
    """`at(script, **deck settings)`: a device at a new conversation with that model."""

    def come(script, **settings):
        return devices.at(*opened(make_mead(script, **settings))).come()

    return come


@pytest.fixture
def arrive(make_mead, devices):
    """A device that is connected and has not resumed."""

    def arrive(**settings):
        return devices.at(*opened(make_mead(**settings))).connect()

    return arrive


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def files(disk, tmp_path) -> EventFiles:
    return files_in(disk, tmp_path)


def opened(mead: Mead) -> tuple[Mead, str]:
    """A new conversation, as a ticket opens it."""
    return mead, mead.deck().redeem(mead.deck().issue_ticket().ticket)
