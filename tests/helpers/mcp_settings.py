"""Tool servers for the tests of the hub: settings of fake ones, and a hub that is ready."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mead.config import Secret, ServerSettings
from mead.mcp.client.hub import Hub, ServerStatus
from tests.helpers import mcp_fake
from tests.helpers.waiting import eventually

FAKE: Final = str(Path(mcp_fake.__file__))
PYTHON: Final = (sys.executable, "-I", "-S")
SOON_MS: Final = (50, 100, 100)
"""Waits between attempts that suit a test."""


def fake_server(
    name: str = "fake",
    *,
    tools: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    call_timeout_ms: int = 5000,
    handshake_timeout_ms: int = 5000,
    directory: Path | None = None,
    extra_arguments: tuple[str, ...] = (),
    **behaviour: Any,
) -> ServerSettings:
    """A stdio server that does what `behaviour` says (see mcp_fake)."""
    return ServerSettings(
        name=name,
        transport="stdio",
        tools=dict.fromkeys(mcp_fake.TOOLS, "read") if tools is None else tools,
        call_timeout_ms=call_timeout_ms,
        handshake_timeout_ms=handshake_timeout_ms,
        command=PYTHON[0],
        arguments=(*PYTHON[1:], FAKE, json.dumps(behaviour), *extra_arguments),
        environment={key: Secret(text) for key, text in (environment or {}).items()},
        directory=directory,
    )


@contextmanager
def running(
    *servers: ServerSettings,
    ready: bool = True,
    bound_s: float = 5,
    backoff_ms: Sequence[int] = SOON_MS,
) -> Iterator[Hub]:
    """A hub with these servers, all of them connected if `ready`."""
    hub = Hub(servers, backoff_ms=backoff_ms)
    hub.start()
    try:
        if ready:
            for server in servers:
                wait_for(hub, server.name, "ready", bound_s)
        yield hub
    finally:
        hub.stop()


def status(hub: Hub, name: str = "fake") -> ServerStatus:
    """How that server does."""
    return next(one for one in hub.status() if one.name == name)


def wait_for(hub: Hub, name: str, state: str, bound_s: float = 5) -> ServerStatus:
    """Its status, once it is in that state."""
    return eventually(lambda: (one := status(hub, name)).state == state and one, bound_s)


def launcher_pid(hub: Hub, name: str = "fake") -> int:
    """The process above that stdio server."""
    transport = hub._connections[name]._transport
    return transport.pid


def received(path: Path) -> list[dict[str, Any]]:
    """What a fake server has received so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
