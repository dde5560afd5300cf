"""The smallest stateless JSON server made with the official Python SDK, as a yardstick.

Run by bench_mcp in the peers' environment: `python sdk_server.py PORT`.
"""

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.responses import Response

server = MCPServer("yardstick", log_level="CRITICAL")


@server.tool()
def history(session_id: str) -> str:
    """One trivial tool."""
    return session_id


async def ready(request: object) -> Response:
    """That it is up."""
    return Response()


app = server.streamable_http_app(stateless_http=True, json_response=True)
app.add_route("/ready", ready)
uvicorn.run(
    app, host="127.0.0.1", port=int(sys.argv[1]), workers=1, log_level="critical", access_log=False
)
