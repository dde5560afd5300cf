"""`POST /mcp`: Mead as an MCP server.  The guards stand before it, the dispatcher behind it.

A view reads the headers that MCP gives a meaning, the body within its bounds, and hands over one
message.  Source: SPEC section 6.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from flask import Blueprint, Flask, Response, request
from werkzeug.exceptions import UnsupportedMediaType

from blueprints.bodies import BODY_DEADLINE_MS, DEADLINE_KEY, JSON_TYPE, read_body
from blueprints.guards import Access, access
from blueprints.mcp_plain import Answer, PlainRequests, json_answer
from mead.actors.tasks import TaskSupervisor
from mead.config import Settings
from mead.mcp.server.dispatcher import Dispatcher, WatchedCall
from mead.mcp.server.envelope import Incoming
from mead.mcp.server.progress import ProgressStream
from mead.mcp.server.tool import ServerTool
from mead.mcp.server.tools import INSTRUCTIONS, session_tools
from mead.protocols import SessionAPI

log = logging.getLogger(__name__)

EVENTS_TYPE: Final = "text/event-stream"

_EVENTS_HEADERS: Final = (
    ("Content-Type", EVENTS_TYPE),
    ("Cache-Control", "no-cache"),
    ("X-Accel-Buffering", "no"),
)
"""Have no proxy keep an event back; the last is nginx's own."""


def add_mcp(
    app: Flask, api: SessionAPI, settings: Settings, more_tools: Sequence[ServerTool] = ()
) -> None:
    """Serve the nine tools, and perhaps more, if there is a token to ask for them with."""
    if settings.mcp_server.token is None:
        log.info("no mcp_server.token: /mcp is not served")
        return
    tools = session_tools(
        api,
        handlers=("router", "echo", *settings.runtime.handlers),
        allow_effect=settings.mcp_server.allow_effect,
    )
    face = McpFace(Dispatcher((*tools, *more_tools), INSTRUCTIONS))
    app.register_blueprint(mcp_blueprint(face))
    config = cast("Mapping[str, float]", app.config)
    app.wsgi_app = PlainRequests(
        app.wsgi_app,
        settings.mcp_server,
        face.answer,
        lambda: config.get(DEADLINE_KEY, BODY_DEADLINE_MS),
    )


class McpFace:
    """The dispatcher behind HTTP."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._watched = TaskSupervisor("watched MCP calls")

    def answer(self, environ: Mapping[str, Any], body: bytes) -> Answer:
        """One message in, one answer out; or a stream of progress and then the answer."""
        incoming = Incoming(
            body=body,
            version=environ.get("HTTP_MCP_PROTOCOL_VERSION"),
            method=environ.get("HTTP_MCP_METHOD"),
            name=environ.get("HTTP_MCP_NAME"),
            takes_events=EVENTS_TYPE in environ.get("HTTP_ACCEPT", "").lower(),
        )
        answer = self._dispatcher.answer(incoming)
        if isinstance(answer, WatchedCall):
            return 200, list(_EVENTS_HEADERS), ProgressStream(answer, self._watched)
        return json_answer(answer.status, answer.body)


def mcp_blueprint(face: McpFace) -> Blueprint:
    """The route `/mcp`."""
    blueprint = Blueprint("mcp", __name__)

    @blueprint.post("/mcp", provide_automatic_options=False)
    @access(Access.MCP)
    def mcp() -> Response:
        """What `PlainRequests` left over: pages of allowed origins, chunked bodies, odd types."""
        if request.mimetype != JSON_TYPE:
            raise UnsupportedMediaType
        status, headers, chunks = face.answer(request.environ, read_body())
        response = Response(chunks, status=status)
        response.headers.clear()
        response.headers.extend(headers)
        return response

    return blueprint
