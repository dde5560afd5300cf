"""The tool servers of the soak on standard streams: `add`, `write`, and `die`, which ends it."""

import json
import sys
from typing import Any

NAMES = ("add", "write", "die")


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not known."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "soak", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": told(params["name"], params["arguments"])}]}
    return None


def told(name: str, arguments: dict[str, Any]) -> str:
    """What a tool says."""
    if name == "add":
        return str(arguments["a"] + arguments["b"])
    if name == "die":
        sys.exit(1)
    return "written"


def answer_to(message: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a message; None for a notification."""
    if "id" not in message:
        return None
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    result = result_of(message["method"], message.get("params") or {})
    if result is None:
        return {**answer, "error": {"code": -32601, "message": "no such method"}}
    return {**answer, "result": result}


def main() -> None:
    for line in sys.stdin:
        answer = answer_to(json.loads(line))
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
