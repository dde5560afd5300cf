"""A conversation through the official Python SDK's client.  Runs in the peers' environment.

MEAD_URL, MEAD_TOKEN, MEAD_MODE (auto, legacy or a revision), MEAD_CA (a file, or empty).
"""

import asyncio
import json
import os
import ssl
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['MEAD_TOKEN']}"}
    authority = os.environ["MEAD_CA"]
    verify = ssl.create_default_context(cafile=authority) if authority else True
    async with httpx2.AsyncClient(headers=headers, verify=verify) as http:
        transport = streamable_http_client(os.environ["MEAD_URL"], http_client=http)
        async with Client(transport, mode=os.environ["MEAD_MODE"]) as client:
            sys.stdout.write(json.dumps(await converse(client)))


async def converse(client: Client) -> dict:
    seen = []

    async def progress(amount: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    async def use(name: str, **arguments: object) -> dict:
        result = await client.call_tool(name, arguments, progress_callback=progress)
        assert not result.is_error, result.content
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    tools = await client.list_tools()
    session = await use("start_session")
    answer = await use("submit_turn", **session, input="Tell me")
    history = await use("history", **session)
    deleted = await use("delete_session", **session)
    gone = await client.call_tool("history", session)
    return {
        "version": client.protocol_version,
        "server": client.server_info and client.server_info.name,
        "tools": [tool.name for tool in tools.tools],
        "output": answer["output"],
        "progress": seen,
        "history": [turn["input"] for turn in history["turns"]],
        "deleted": deleted["deleted"],
        "gone": gone.is_error and gone.content[0].text,
    }


asyncio.run(main())
