"""A conversation through fastmcp's client.  Runs in the peers' environment; see python_sdk.py."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main() -> None:
    transport = StreamableHttpTransport(
        os.environ["MEAD_URL"],
        headers={"Authorization": f"Bearer {os.environ['MEAD_TOKEN']}"},
        verify=os.environ["MEAD_CA"] or None,
    )
    async with Client(transport, mode=os.environ["MEAD_MODE"]) as client:
        sys.stdout.write(json.dumps(await converse(client)))


async def converse(client: Client) -> dict:
    seen = []

    async def progress(amount: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    async def use(name: str, **arguments: object) -> dict:
        result = await client.call_tool(name, arguments, progress_handler=progress)
        return result.structured_content

    tools = await client.list_tools()
    session = await use("start_session")
    answer = await use("submit_turn", **session, input="Tell me")
    history = await use("history", **session)
    deleted = await use("delete_session", **session)
    gone = await client.call_tool("history", session, raise_on_error=False)
    return {
        "tools": [tool.name for tool in tools],
        "output": answer["output"],
        "progress": seen,
        "history": [turn["input"] for turn in history["turns"]],
        "deleted": deleted["deleted"],
        "gone": gone.is_error and gone.content[0].text,
    }


asyncio.run(main())
