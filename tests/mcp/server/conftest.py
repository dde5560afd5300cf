from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mead import Mead
from mead.mcp.server.dispatcher import Dispatcher
from mead.mcp.server.tools import INSTRUCTIONS, session_tools
from tests.helpers.mcp_messages import call, legacy, result
from tests.helpers.puppet import Puppet

Call = Callable[..., Any]


@pytest.fixture
def mead(puppet: Puppet, tmp_path: Path) -> Iterator[Mead]:
    settings = {"storage": {"directory": str(tmp_path / "store")}}
    with Mead(settings, handlers={"puppet": puppet}) as running:
        yield running


@pytest.fixture
def dispatcher(mead: Mead) -> Dispatcher:
    tools = session_tools(mead, handlers=("router", "echo", "puppet"), allow_effect=False)
    return Dispatcher(tools, INSTRUCTIONS)


@pytest.fixture
def ask(dispatcher: Dispatcher) -> Call:
    """Calls a tool that does what it is asked; its structured result."""

    def ask(name: str, **arguments: Any) -> Any:
        answer = result(dispatcher, legacy(call(name, arguments)))
        assert answer["isError"] is False, answer
        return answer["structuredContent"]

    return ask


@pytest.fixture
def fault(dispatcher: Dispatcher) -> Call:
    """Calls a tool that fails; its text."""

    def fault(name: str, **arguments: Any) -> str:
        answer = result(dispatcher, legacy(call(name, arguments)))
        assert answer["isError"] is True, answer
        assert "structuredContent" not in answer
        return answer["content"][0]["text"]

    return fault
