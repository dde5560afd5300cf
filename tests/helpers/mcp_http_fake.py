"""An MCP server over HTTP, in this process, that a test scripts request by request."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gevent.pool import Pool
from gevent.pywsgi import WSGIServer

from mead.config import Secret, ServerSettings
from tests.helpers.mcp_fake import TOOLS

JSON = "application/json"
STREAM = "text/event-stream"


@dataclass
class Heard:
    """A request that arrived."""

    method: str
    headers: dict[str, str]
    """Names in lower case."""
    message: dict[str, Any] | None

    @property
    def call(self) -> str | None:
        """The JSON-RPC method."""
        return None if self.message is None else self.message.get("method")


@dataclass
class Reply:
    """What is answered."""

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    media_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


def result(heard: Heard, value: Any, **more: Any) -> Reply:
    """A JSON answer to the request."""
    message = {"jsonrpc": "2.0", "id": heard.message["id"], "result": value}
    return Reply(body=json.dumps(message).encode(), **more)


def error(heard: Heard, code: int, status: int = 400, **more: Any) -> Reply:
    """A JSON-RPC error."""
    fault = {"code": code, "message": "no", **more}
    message = {"jsonrpc": "2.0", "id": heard.message["id"], "error": fault}
    return Reply(status=status, body=json.dumps(message).encode())


def event(heard_id: Any, value: Any, end: str = "\n\n", **fields: Any) -> bytes:
    """An event with the answer to the request of that id."""
    lines = [f"{name}: {text}" for name, text in fields.items()]
    message = {"jsonrpc": "2.0", "id": heard_id, "result": value}
    lines.append(f"data: {json.dumps(message)}")
    return ("\n".join(lines) + end).encode()


def text(words: str) -> dict[str, Any]:
    """A result with that text."""
    return {"content": [{"type": "text", "text": words}], "resultType": "complete"}


class FakeHttp:
    """Answers as a plain server of its era; `on[METHOD]` (JSON-RPC or HTTP) answers instead."""

    def __init__(self, *, era: str = "legacy", sessions: bool = False, **tools: Any) -> None:
        self.era = era
        self.sessions = sessions
        self.tools: dict[str, Any] = tools or {name: {} for name in TOOLS}
        self.on: dict[str, Callable[[Heard], Reply | None]] = {}
        self.heard: list[Heard] = []
        self.session: str | None = None
        self._numbers = itertools.count(1)
        self._pool = Pool()

    # -- the plain server --------------------------------------------------------------------------

    def answer(self, heard: Heard) -> Reply:
        for key in (heard.call, heard.method):
            scripted = self.on.get(key) if key is not None else None
            reply = scripted(heard) if scripted is not None else None
            if reply is not None:
                return reply
        if heard.method != "POST":
            return Reply(405)
        if self._forgotten(heard):
            return error(heard, -32001, 404)
        if "id" not in (heard.message or {}) or heard.call is None:
            return Reply(202)
        if self.era == "legacy" and "mcp-method" in heard.headers:
            return error(heard, -32000)
        return self._plain(heard)

    def _forgotten(self, heard: Heard) -> bool:
        if not self.sessions or heard.call in ("initialize", "server/discover"):
            return False
        return heard.headers.get("mcp-session-id") != self.session

    def _plain(self, heard: Heard) -> Reply:
        if heard.call == "initialize":
            return self._initialize(heard)
        if heard.call == "server/discover":
            modern = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            return result(heard, modern)
        if heard.call == "tools/list":
            listed = [{"name": name, "inputSchema": {"type": "object"}, **more}
                      for name, more in self.tools.items()]  # fmt: skip
            return result(heard, {"tools": listed, "resultType": "complete"})
        if heard.call == "tools/call":
            return result(heard, text(heard.message["params"]["arguments"].get("text", "")))
        return error(heard, -32601, 404)

    def _initialize(self, heard: Heard) -> Reply:
        told = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "9"},
        }
        if not self.sessions:
            return result(heard, told)
        self.session = f"session-{next(self._numbers)}"
        return result(heard, told, headers={"Mcp-Session-Id": self.session})

    # -- what was heard ----------------------------------------------------------------------------

    def calls(self) -> list[str]:
        """The JSON-RPC and HTTP methods so far, in order."""
        return [heard.call or heard.method for heard in self.heard]

    def last(self, call: str) -> Heard:
        """The latest request of that method."""
        return next(heard for heard in reversed(self.heard) if call in (heard.call, heard.method))

    def hang_up(self) -> None:
        """Close every connection."""
        self._pool.kill()

    # -- serving -----------------------------------------------------------------------------------

    def _wsgi(self, environ: Mapping[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read()
        headers = {
            key[5:].replace("_", "-").lower(): value
            for key, value in environ.items()
            if key.startswith("HTTP_")
        }
        heard = Heard(environ["REQUEST_METHOD"], headers, json.loads(body) if body else None)
        self.heard.append(heard)
        reply = self.answer(heard)
        start(f"{reply.status} X", [("Content-Type", reply.media_type), *reply.headers.items()])
        return [reply.body] if isinstance(reply.body, bytes) else reply.body

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[int]:
        """Listen; gives the port."""
        server = WSGIServer(("127.0.0.1", port), self._wsgi, log=None, error_log=None, spawn=Pool())
        server.start()
        try:
            yield server.server_port
        finally:
            server.stop(timeout=0)


def http_server(
    port: int,
    name: str = "fake",
    *,
    tools: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    call_timeout_ms: int = 5000,
    handshake_timeout_ms: int = 5000,
    proxy: str | None = None,
) -> ServerSettings:
    """The settings of a server at that port."""
    return ServerSettings(
        name=name,
        transport="http",
        url=f"http://127.0.0.1:{port}/mcp",
        tools=dict.fromkeys(TOOLS, "read") if tools is None else tools,
        headers={key: Secret(value) for key, value in (headers or {}).items()},
        call_timeout_ms=call_timeout_ms,
        handshake_timeout_ms=handshake_timeout_ms,
        proxy=proxy,
    )
