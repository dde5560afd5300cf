from dataclasses import dataclass, field
from typing import Any

import pytest

from blueprints.guards import Access, access
from mead.config import Settings
from mead.errors import SessionStopped
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN
from wsgi import create_app


@dataclass
class StandIn:
    """A runtime that says what a test wants it to say."""

    ready: bool = True
    sessions: int = 3
    turns: int = 2
    watchers: list[Any] = field(default_factory=list)

    def start(self, *, lock_wait_ms: float) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def on_end(self, callback: Any) -> None:
        self.watchers.append(callback)

    def deck(self) -> None:
        raise SessionStopped

    def status(self) -> dict[str, Any]:
        return {"ready": self.ready, "sessions": self.sessions, "turns": self.turns}


def make_app(runtime: StandIn | None = None, *, tokens: bool = True, **listener: Any):
    """The real application, over a stand-in runtime, with these settings of `mcp_server`."""
    values: dict[str, Any] = {"mcp_server": dict(listener)}
    if tokens:
        values["mcp_server"]["token"] = MCP_TOKEN
        values["deck"] = {"token": DECK_TOKEN}
    app = create_app(Settings.build(values, environ={}), runtime or StandIn())
    app.testing = False

    @app.post("/face")
    @access(Access.MCP)
    def face() -> dict[str, str]:
        return {"face": "mcp"}

    @app.route("/deck/things/<name>", methods=["PATCH", "DELETE"])
    @access(Access.DECK)
    def things(name: str) -> dict[str, str]:
        return {"face": name}

    @app.get("/open")
    @access(Access.OPEN)
    def opened() -> dict[str, str]:
        return {"face": "open"}

    return app


@pytest.fixture
def client():
    """Asks an application with both tokens on a loopback address."""
    return make_app().test_client()


def authorized(token: str = MCP_TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
