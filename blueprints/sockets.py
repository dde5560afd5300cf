"""flask-sock with Mead's WebSocket engine behind its routes.

flask-sock declares the route and hands over the upgrade; its own engine cuts frames under gevent
(docs/adr/0006-websocket-library.md).  Its seam is the name `Server` in its module, which it looks
up at every request; the application's own engine arrives as an option.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import flask_sock  # pyright: ignore[reportMissingTypeStubs]
from flask import Blueprint, Flask, Response

from blueprints.errors import error_response
from mead.protocols.sockets import ServedSocket, SocketEngine, UpgradeRefused

_OPTIONS: Final = "SOCK_SERVER_OPTIONS"

SocketView = Callable[..., object]
"""A view whose first argument is the FrameSocket.  It is called when the upgrade is done."""


def add_sockets(app: Flask, engine: SocketEngine) -> None:
    """Have `engine` serve the WebSocket routes of `app`."""
    app.config[_OPTIONS] = {"engine": engine}
    app.register_error_handler(UpgradeRefused, _refused)


def socket_route(where: Flask | Blueprint, path: str, view: SocketView) -> None:
    """Declare a WebSocket route of an application or a blueprint.

    `view(socket, ...)` may raise and may be killed; nothing of that reaches the stream.  What must
    be judged before the upgrade belongs into a `before_request`, with `SocketEngine.check` first.
    """
    sock: Any = flask_sock.Sock()
    sock.route(path, bp=where, provide_automatic_options=False)(_enclosed(view))


def _accept(environ: Mapping[str, Any], engine: SocketEngine) -> ServedSocket:
    return engine.accept(environ)


def _enclosed(view: SocketView) -> SocketView:
    @wraps(view)
    def run(socket: ServedSocket, *args: Any, **kwargs: Any) -> None:
        socket.run(lambda: view(socket, *args, **kwargs))

    return run


def _refused(refusal: UpgradeRefused) -> Response:
    response = error_response(refusal.status, refusal.code)
    response.headers.update(refusal.headers)
    return response


flask_sock.Server = _accept
