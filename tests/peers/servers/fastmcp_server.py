"""A server made with fastmcp 4.

`fastmcp_server.py stdio RECORD` or `fastmcp_server.py http RECORD PORT`; what happens to a slow
call is appended to the file RECORD.
"""

import asyncio
import sys
from pathlib import Path

from fastmcp import FastMCP

server = FastMCP("fastmcp-peer")
record = Path(sys.argv[2])


def note(word: str) -> None:
    with record.open("a") as file:
        file.write(word + "\n")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def weather(city: str) -> dict[str, str | int]:
    """An object."""
    return {"city": city, "degrees": 21}


@server.tool
async def slow(seconds: float) -> str:
    """Wait."""
    note("started")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("cancelled")
        raise
    return "waited"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run(show_banner=False)
    else:
        server.run(transport="http", port=int(sys.argv[3]), show_banner=False)
