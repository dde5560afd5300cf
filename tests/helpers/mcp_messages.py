"""MCP requests as clients of both eras send them, and answers as tests read them."""

import json
from typing import Any, Final

from mead.mcp.server.dispatcher import Dispatcher, Reply
from mead.mcp.server.envelope import Incoming

LEGACY_VERSIONS: Final = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION: Final = "2026-07-28"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request; params that are None are left out."""
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


def call(name: str, arguments: Any = None, **params: Any) -> dict[str, Any]:
    """A tools/call request."""
    return request("tools/call", {"name": name, "arguments": arguments or {}, **params})


def legacy(message: Any, version: str | None = "2025-06-18", **more: Any) -> Incoming:
    """The message as a client of the handshake era posts it."""
    return Incoming(body=json.dumps(message).encode(), version=version, **more)


def modern(message: dict[str, Any], **headers: Any) -> Incoming:
    """The message as a client of the stateless era posts it; `headers` replace its own."""
    params = {"_meta": META, **message.get("params", {})}
    shown = {"version": MODERN_VERSION, "method": message["method"], "name": params.get("name")}
    body = json.dumps({**message, "params": params}).encode()
    return Incoming(body=body, **{**shown, **headers})


def modern_headers(message: dict[str, Any]) -> dict[str, str]:
    """The HTTP headers that go with `modern`."""
    headers = {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": message["method"]}
    name = message.get("params", {}).get("name")
    return {**headers, "Mcp-Name": name} if name else headers


def answered(dispatcher: Dispatcher, incoming: Incoming) -> tuple[int, Any]:
    """Status and message of the answer."""
    reply = dispatcher.answer(incoming)
    assert isinstance(reply, Reply)
    return reply.status, json.loads(reply.body) if reply.body else None


def result(dispatcher: Dispatcher, incoming: Incoming) -> Any:
    """The result of a request that is answered with one."""
    status, message = answered(dispatcher, incoming)
    assert status == 200, message
    return message["result"]


def error(dispatcher: Dispatcher, incoming: Incoming) -> tuple[int, int, Any]:
    """Status, code and id of a request that is answered with an error; the id "none" if absent."""
    status, message = answered(dispatcher, incoming)
    return status, message["error"]["code"], message.get("id", "none")
