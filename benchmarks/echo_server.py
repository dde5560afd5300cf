"""The leanest MCP server on standard streams: one tool, `echo`.  Needs orjson alone."""

import os

import orjson

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "echo", "version": "1"},
}


def main() -> None:
    left = b""
    while data := os.read(0, 65536):
        *lines, left = (left + data).split(b"\n")
        answers = b"".join(map(answer, lines))
        if answers:
            os.write(1, answers)


def answer(line: bytes) -> bytes:
    message = orjson.loads(line)
    id_ = message.get("id")
    if id_ is None:
        return b""
    fields = {"jsonrpc": "2.0", "id": id_}
    method = message["method"]
    if method == "tools/call":
        text = message["params"]["arguments"]["text"]
        fields["result"] = {"content": [{"type": "text", "text": text}], "isError": False}
    elif method == "tools/list":
        fields["result"] = {"tools": [TOOL]}
    elif method == "initialize":
        fields["result"] = INITIALIZED
    else:
        fields["error"] = {"code": -32601, "message": "no such method"}
    return orjson.dumps(fields) + b"\n"


if __name__ == "__main__":
    main()
