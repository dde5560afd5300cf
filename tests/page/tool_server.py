"""The tools of the page's tests, for a real server: an MCP server on standard streams."""

import json
import sys
import threading
from time import sleep
from typing import Any, Final

from tests.page.scenarios import tool_result

NAMES: Final = ("list", "write", "sleep")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result for a request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"},
        }
    if method == "tools/list":
        schema = {"type": "object"}
        tools = [{"name": name, "description": name, "inputSchema": schema} for name in NAMES]
        return {"tools": tools}
    arguments = params.get("arguments", {})
    sleep(arguments.get("seconds", 0.05))
    return {"content": [{"type": "text", "text": tool_result(params["name"], arguments)}]}


def reply(message: dict[str, Any], lock: threading.Lock) -> None:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in ("initialize", "tools/list", "tools/call"):
        body["result"] = answer(message["method"], message.get("params", {}))
    else:
        body["error"] = {"code": -32601, "message": "unknown method"}
    with lock:
        sys.stdout.write(json.dumps(body) + "\n")
        sys.stdout.flush()


def main() -> None:
    lock = threading.Lock()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:  # a call that sleeps keeps no other waiting
            threading.Thread(target=reply, args=(message, lock), daemon=True).start()


if __name__ == "__main__":
    main()
