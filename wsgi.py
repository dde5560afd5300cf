from gevent import monkey

monkey.patch_all()  # before anything else is imported

# ruff: noqa: D100 - the first line patches

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from flask import Flask

from blueprints.deck import SUBPROTOCOLS, add_deck
from blueprints.deck_sessions import DeckRuntime
from blueprints.errors import handle_errors
from blueprints.guards import Guards
from blueprints.health import health_blueprint
from blueprints.mcp import add_mcp
from mead.api import Mead
from mead.cli import mead_group
from mead.config import Settings, load_settings
from mead.errors import ConfigurationError, SessionStopped
from mead.mcp.server.tool import ServerTool
from mead.web.lifecycle import FAULTS, PROCESS, WebProcess
from mead.web.lifecycle import Runtime as ProcessRuntime
from mead.web.served import served
from mead.web.websocket.engine import UNREAD_DEADLINE_MS, WebSocketEngine


class Runtime(ProcessRuntime, DeckRuntime, Protocol):
    """What the faces and the process need of `mead.api.Mead`."""


def create_app(
    settings: Settings | None = None,
    runtime: Runtime | None = None,
    *,
    more_tools: Sequence[ServerTool] = (),
) -> Flask:
    """The application over a runtime that is not started yet.

    `settings`: by default those of the process, which a server's worker has from its master.
    `runtime`: by default a `Mead` with these settings.  gunicorn.conf.py starts it in the worker;
    a command starts it only if it needs it.  `more_tools`: what the MCP face offers beside its own
    nine.  Unusable settings leave an application that has the commands alone, among them the one
    that shows the faults.
    """
    app = Flask("mead", static_folder=None)
    app.url_map.merge_slashes = False  # a path is what it says, and leads nowhere else
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.cli.add_command(mead_group)
    app.extensions["mead.directory"] = Path(__file__).parent
    try:
        settings = settings or served.get() or load_settings(os.environ, Path(__file__).parent)
        _add_faces(app, settings, runtime or Mead(settings), more_tools)
    except ConfigurationError as error:
        app.extensions[FAULTS] = error
    return app


def _add_faces(
    app: Flask, settings: Settings, runtime: Runtime, more_tools: Sequence[ServerTool]
) -> None:
    process = WebProcess(runtime, settings.mcp_server.maximum_connections)
    guards = Guards(settings)
    app.extensions.update(
        {"mead": runtime, "mead.settings": settings, "mead.guards": guards, PROCESS: process}
    )
    tokens = (settings.mcp_server.token, settings.deck.token)
    app.register_blueprint(
        health_blueprint(runtime, process.connections, process.monitor, guards, metrics=any(tokens))
    )
    add_mcp(app, runtime, settings, more_tools)
    add_deck(app, runtime, settings, guards, _sockets(process, settings))
    process.connections.register(lambda *_: _drain(runtime))
    handle_errors(app)
    guards.protect(app)


def _sockets(process: WebProcess, settings: Settings) -> WebSocketEngine:
    """The engine; it is slower to give a client up than the deck is."""
    return WebSocketEngine(
        process.connections,
        subprotocols=SUBPROTOCOLS,
        unread_deadline_ms=max(UNREAD_DEADLINE_MS, 2 * settings.deck.idle_timeout_ms),
    )


def _drain(runtime: Runtime) -> None:
    """The worker leaves: no new ticket and no new turn."""
    with suppress(SessionStopped):
        runtime.deck().drain()


app = create_app()
