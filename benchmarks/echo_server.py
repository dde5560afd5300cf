"""A small MCP server on standard streams with one tool, `echo`, as anyone would write it by hand.

With `lean` as its argument it does the same through orjson and bare system calls: what is left is
the price of waking a process.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "echo", "version": "1"},
}


def plain() -> None:
    for line in sys.stdin:
        answer = answer_to(json.loads(line))
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def lean() -> None:
    import orjson

    left = b""
    while data := os.read(0, 65536):
        *lines, left = (left + data).split(b"\n")
        answers = [answer_to(message) for message in map(orjson.loads, lines)]
        written = b"".join(orjson.dumps(one) + b"\n" for one in answers if one is not None)
        if written:
            os.write(1, written)


def answer_to(message: dict[str, Any]) -> dict[str, Any] | None:
    if "id" not in message:
        return None
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    known = ANSWERS.get(message["method"])
    if known is None:
        return {**answer, "error": {"code": -32601, "message": "no such method"}}
    return {**answer, "result": known(message.get("params") or {})}


def echo(params: dict[str, Any]) -> dict[str, Any]:
    text = params["arguments"]["text"]
    return {"content": [{"type": "text", "text": text}], "isError": False}


ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "initialize": lambda params: INITIALIZED,
    "tools/list": lambda params: {"tools": [TOOL]},
    "tools/call": echo,
}


if __name__ == "__main__":
    (lean if sys.argv[1:] == ["lean"] else plain)()
