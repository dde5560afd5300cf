"""The official Python SDK's client with many callers: `sdk_client.py CALLERS CALLS COMMAND...`.

Runs in the peers' environment, unpatched; prints calls a second, all callers together.
"""

import asyncio
import sys
import time

from mcp import Client, StdioServerParameters


async def main() -> None:
    callers, calls = int(sys.argv[1]), int(sys.argv[2])
    target = StdioServerParameters(command=sys.argv[3], args=sys.argv[4:])
    async with Client(target, mode="legacy") as client:

        async def caller(count: int) -> None:
            for _ in range(count):
                await client.call_tool("echo", {"text": "hello"})

        await caller(50)
        started = time.perf_counter()
        await asyncio.gather(*(caller(calls // callers) for _ in range(callers)))
        print(calls / (time.perf_counter() - started))


if __name__ == "__main__":
    asyncio.run(main())
