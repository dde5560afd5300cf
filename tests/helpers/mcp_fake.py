"""An MCP server on standard streams that behaves as a test tells it to.  Standard library alone.

Started by `fake_server` (tests/helpers/mcp_settings.py) with a JSON object as its argument:

- `era`: legacy (default), modern, dual
- `probe`: what a legacy server does with server/discover: an error code, or silence, exit, empty
- `versions`: what a modern server supports; `version`: what a legacy one answers to initialize
- `hello`: text written before anything is read; `complain`: text written to standard error
- `pages`: lists of tool names; `loop`: the last page's cursor is the first one's
- `restless`: says after each list that it changed; `unlisted`: knows no lists
- `record`: a file that gets every received message on a line
- `deaf`: methods that are never answered; `boot`: `exit` ends at once, `sleep` never reads
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOOLS = [
    "echo", "error", "big", "slow", "die", "noise", "huge", "ask", "change", "surroundings",
    "structured", "mixed", "crlf", "flood", "family", "count", "null", "late", "batch",
]  # fmt: skip
SETTINGS: dict[str, Any] = {}
STATE: dict[str, Any] = {"calls": 0, "extra": [], "answers": []}


def main() -> None:
    SETTINGS.update(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
    if SETTINGS.get("boot") == "exit":
        sys.exit(3)
    while SETTINGS.get("boot") == "sleep":
        time.sleep(1)
    sys.stdout.write(SETTINGS.get("hello", ""))
    sys.stdout.flush()
    sys.stderr.write(SETTINGS.get("complain", ""))
    sys.stderr.flush()
    for line in sys.stdin:
        handle(json.loads(line))


def handle(message: dict[str, Any]) -> None:
    record(message)
    method = message.get("method")
    if method is None:
        STATE["answers"].append(message)
    elif "id" in message and method not in SETTINGS.get("deaf", ()):
        answer(message["id"], method, message.get("params") or {})


def record(message: dict[str, Any]) -> None:
    if "record" in SETTINGS:
        with Path(SETTINGS["record"]).open("a") as file:
            file.write(json.dumps(message) + "\n")


def answer(id_: Any, method: str, params: dict[str, Any]) -> None:
    era = SETTINGS.get("era", "legacy")
    modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    if method == "server/discover" and era == "legacy":
        return probed(id_)
    if modern and era == "legacy":
        return fail(id_, -32602, "no such parameter: _meta")
    if method == "server/discover":
        return discover(id_, params)
    if method == "initialize":
        if era == "modern":
            return fail(id_, -32022, "no handshake here", {"supported": ["2026-07-28"]})
        return initialize(id_)
    if method == "tools/list" and not SETTINGS.get("unlisted"):
        return list_tools(id_, params)
    if method == "tools/call":
        return call(id_, params["name"], params.get("arguments", {}))
    if method == "subscriptions/listen":
        STATE["listener"] = id_
        return None
    return fail(id_, -32601, "unknown method")


def probed(id_: Any) -> None:
    probe = SETTINGS.get("probe", -32601)
    if probe == "exit":
        sys.exit(4)
    if probe == "empty":
        reply(id_, {})
    elif probe != "silence":
        fail(id_, probe, "what is this?", SETTINGS.get("probe_data"))


def discover(id_: Any, params: dict[str, Any]) -> None:
    versions = SETTINGS.get("versions", ["2026-07-28"])
    asked = params["_meta"]["io.modelcontextprotocol/protocolVersion"]
    if asked not in versions:
        return fail(id_, -32022, "not spoken", {"supported": versions, "requested": asked})
    return reply(
        id_,
        {
            "supportedVersions": versions,
            "capabilities": {"tools": {"listChanged": SETTINGS.get("announces", False)}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "9"}},
        },
    )


def initialize(id_: Any) -> None:
    reply(
        id_,
        {
            "protocolVersion": SETTINGS.get("version", "2025-11-25"),
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "fake", "version": "9"},
        },
    )


def list_tools(id_: Any, params: dict[str, Any]) -> None:
    pages = SETTINGS.get("pages", [TOOLS])
    index = int(params.get("cursor") or 0)
    names = [*pages[index], *(STATE["extra"] if index == 0 else ())]
    result: dict[str, Any] = {"tools": [tool(name) for name in names]}
    if index + 1 < len(pages):
        result["nextCursor"] = str(index + 1)
    elif SETTINGS.get("loop"):
        result["nextCursor"] = "0"
    reply(id_, result)
    if SETTINGS.get("restless"):
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def tool(name: str) -> dict[str, Any]:
    described = {
        "name": name,
        "description": f"The tool {name}.",
        "inputSchema": {"type": "object"},
    }
    return {**described, **SETTINGS.get("describe", {}).get(name, {})}


def call(id_: Any, name: str, arguments: dict[str, Any]) -> None:
    STATE["calls"] += 1
    if name in STATE["extra"]:
        name = "echo"
    if name in CALLS:
        CALLS[name](id_, arguments)


def change(id_: Any, arguments: dict[str, Any]) -> None:
    STATE["extra"] = list(arguments["tools"])
    for _ in range(arguments.get("times", 1)):
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    text(id_, "changed")


def noise(id_: Any, arguments: dict[str, Any]) -> None:
    sys.stdout.write('Listening ...\n\n[1, 2]\n{"jsonrpc": "1.0"}\nnull\n\xff\n')
    text(id_, "still here")


def crlf(id_: Any, arguments: dict[str, Any]) -> None:
    sys.stdout.write("\r\n  \r\n")
    send({"jsonrpc": "2.0", "id": id_, "result": {"content": []}}, "\r\n")


def flood(id_: Any, arguments: dict[str, Any]) -> None:
    for number in range(arguments["lines"]):
        sys.stdout.write(f"line {number}\n")
    text(id_, "flooded")


def batch(id_: Any, arguments: dict[str, Any]) -> None:
    told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    answered = {"jsonrpc": "2.0", "id": id_, "result": {"content": [], "isError": True}}
    sys.stdout.write(json.dumps([answered] + [told] * (arguments["messages"] - 1)) + "\n")
    text(id_, "after the batch")


def late(id_: Any, arguments: dict[str, Any]) -> None:
    time.sleep(arguments["seconds"])
    text(id_, "too late")


def surroundings() -> dict[str, Any]:
    return {
        "environment": dict(os.environ),
        "descriptors": sorted(int(one.name) for one in Path("/proc/self/fd").iterdir()),
        "directory": str(Path.cwd()),
        "arguments": sys.argv[2:],
    }


def family() -> list[int]:
    """Leave children that hide: one in a session of its own, one orphaned, one deaf to SIGTERM."""
    sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    away = subprocess.Popen(sleeper, start_new_session=True)
    stubborn = subprocess.Popen([sys.executable, "-I", "-S", "-c", deaf])
    orphan = subprocess.run(
        ["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True
    )
    return [away.pid, stubborn.pid, int(orphan.stdout)]


def ask(id_: Any, arguments: dict[str, Any]) -> None:
    """Ask the client two things and tell what it answered."""
    send({"jsonrpc": "2.0", "id": "a", "method": "ping"})
    send({"jsonrpc": "2.0", "id": "b", "method": "sampling/createMessage", "params": {}})
    heard = [json.loads(sys.stdin.readline()) for _ in range(2)]
    text(id_, json.dumps(heard))


def text(id_: Any, words: str) -> None:
    reply(id_, {"content": [{"type": "text", "text": words}]})


def reply(id_: Any, result: Any) -> None:
    if isinstance(result, dict) and SETTINGS.get("era", "legacy") != "legacy":
        result.setdefault("resultType", "complete")
    send({"jsonrpc": "2.0", "id": id_, "result": result})


def fail(id_: Any, code: int, message: str, data: Any = None) -> None:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    send({"jsonrpc": "2.0", "id": id_, "error": error})


def send(message: dict[str, Any], end: str = "\n") -> None:
    sys.stdout.write(json.dumps(message) + end)
    sys.stdout.flush()


CALLS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "echo": lambda id_, given: text(id_, given.get("text", "")),
    "error": lambda id_, given: reply(
        id_, {"content": [{"type": "text", "text": "it went wrong"}], "isError": True}
    ),
    "big": lambda id_, given: text(id_, "x" * given["size"]),
    "die": lambda id_, given: os._exit(5),
    "huge": lambda id_, given: text(id_, "x" * 10_000_000),
    "structured": lambda id_, given: reply(
        id_, {"content": [], "structuredContent": {"answer": 42}}
    ),
    "mixed": lambda id_, given: reply(id_, {"content": given["content"]}),
    "surroundings": lambda id_, given: text(id_, json.dumps(surroundings())),
    "family": lambda id_, given: text(id_, json.dumps(family())),
    "count": lambda id_, given: text(id_, str(STATE["calls"])),
    "null": lambda id_, given: reply(id_, None),
    "ask": ask,
    "change": change,
    "noise": noise,
    "crlf": crlf,
    "flood": flood,
    "late": late,
    "batch": batch,
}


if __name__ == "__main__":
    main()
