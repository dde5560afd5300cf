"""`POST /mcp`: Mead as an MCP server.  The guards stand before it, the dispatcher behind it.

The view reads the headers that MCP gives a meaning, the body within its bounds, and hands over one
message.  Source: SPEC section 6.
"""

import logging
from collections.abc import Sequence
from typing import Final

from flask import Blueprint, Flask, Response, request
from werkzeug.exceptions import UnsupportedMediaType

from blueprints.bodies import read_body
from blueprints.guards import Access, access
from mead.actors.tasks import TaskSupervisor
from mead.config import Settings
from mead.mcp.server.dispatcher import Dispatcher, WatchedCall
from mead.mcp.server.envelope import Incoming
from mead.mcp.server.progress import ProgressStream
from mead.mcp.server.tool import ServerTool
from mead.mcp.server.tools import INSTRUCTIONS, session_tools
from mead.protocols import SessionAPI

log = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json"
EVENTS_TYPE: Final = "text/event-stream"

_EVENTS_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Have no proxy keep an event back; the second is nginx's own."""


def mcp_blueprint(dispatcher: Dispatcher) -> Blueprint:
    """The route `/mcp` over a dispatcher."""
    blueprint = Blueprint("mcp", __name__)
    watched = TaskSupervisor("watched MCP calls")

    @blueprint.post("/mcp", provide_automatic_options=False)
    @access(Access.MCP)
    def mcp() -> Response:
        """One message in, one answer out; or a stream of progress and then the answer."""
        if request.mimetype != JSON_TYPE:
            raise UnsupportedMediaType
        answer = dispatcher.answer(_incoming())
        if isinstance(answer, WatchedCall):
            stream = ProgressStream(answer, watched)
            return Response(stream, content_type=EVENTS_TYPE, headers=_EVENTS_HEADERS)
        return Response(answer.body, status=answer.status, content_type=JSON_TYPE)

    return blueprint


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
    app.register_blueprint(mcp_blueprint(Dispatcher((*tools, *more_tools), INSTRUCTIONS)))


def _incoming() -> Incoming:
    headers = request.headers
    return Incoming(
        body=read_body(),
        version=headers.get("MCP-Protocol-Version"),
        method=headers.get("Mcp-Method"),
        name=headers.get("Mcp-Name"),
        takes_events=EVENTS_TYPE in headers.get("Accept", "").lower(),
    )
