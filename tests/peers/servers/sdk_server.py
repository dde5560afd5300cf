"""A server made with the official Python SDK; it tells when its tools change.

`sdk_server.py stdio` or `sdk_server.py http PORT`.
"""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("sdk-peer")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one more tool."""

    def fresh() -> str:
        """New."""
        return "fresh"

    server.add_tool(fresh)
    await ctx.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run()
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
