"""A small MCP server on standard streams with one tool, `echo`, as one writes it by hand."""

import json
import sys
from collections.abc import Callable
from typing import Any

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "echo", "version": "1"},
}


def main() -> None:
    for line in sys.stdin:
        answer = answer_to(json.loads(line))
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


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
    main()
