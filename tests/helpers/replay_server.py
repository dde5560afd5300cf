"""A real HTTP server on loopback that sends exactly the bytes it is told, cut where it is told.

Connections are kept alive where the framing allows it, so that tests see what a client does
with them.  Every wait has a bound.
"""

import json
import socket
import ssl
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer

BOUND_S = 5

Part = bytes | Event | Callable[[], object]
"""Bytes to send; an event to wait for; something to do."""
Framing = Literal["chunked", "close", "length", "raw"]
"""`close`: the body ends with the connection.  `raw`: the parts are the whole answer."""
End = Literal["clean", "cut", "reset", "hold"]
"""`cut`: the connection is closed before the body's end.  `hold`: it stays open and silent."""


@dataclass
class Seen:
    """A request as it came."""

    connection: int
    """1 for the first connection, 2 for the second ..."""
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """One prepared answer."""

    parts: Iterable[Part] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str | None = "text/event-stream"
    framing: Framing = "chunked"
    end: End = "clean"


def sse(*parts: Part, **changes: Any) -> Reply:
    """An event stream."""
    return Reply(parts, **changes)


def answer(body: Any, status: int = 200, **changes: Any) -> Reply:
    """A JSON answer in one piece."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    changes = {"kind": "application/json", "framing": "length", **changes}
    return Reply([data], status, **changes)


class ReplayServer:
    """Answers one request after the other with the prepared replies; the last one repeats."""

    def __init__(self, *replies: Reply, tls: ssl.SSLContext | None = None) -> None:
        self.replies = list(replies)
        self.seen: list[Seen] = []
        self.arrived = Event()
        """Set when a request has come whole."""
        self.left = Event()
        """Set when a client closed its end of the connection."""
        self._connections = 0
        extra = {} if tls is None else {"ssl_context": tls}
        self._pool = Pool()
        self._server = StreamServer(("127.0.0.1", 0), self._serve, spawn=self._pool, **extra)
        self._server.start()

    def __enter__(self) -> "ReplayServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(timeout=0)
        self._pool.kill(timeout=BOUND_S)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        return self._connections

    def _serve(self, sock: socket.socket, _: object) -> None:
        self._connections += 1
        number = self._connections
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer takes 40 ms
        try:
            with sock, sock.makefile("rb") as stream:
                while (seen := _read(stream, number)) is not None:
                    self.seen.append(seen)
                    self.arrived.set()
                    reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                    if not self._send(sock, reply):
                        return
                self.left.set()
        except (ConnectionError, ssl.SSLError):
            self.left.set()

    def _send(self, sock: socket.socket, reply: Reply) -> bool:
        """Whether the connection can take another request."""
        parts = list(reply.parts)
        sock.sendall(_head(reply, parts))
        for part in parts:
            if isinstance(part, Event):
                part.wait(BOUND_S)
            elif callable(part):
                part()
            else:
                sock.sendall(_framed(reply.framing, part))
        if reply.end == "hold":
            self._hold(sock)
        elif reply.end == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif reply.end == "clean" and reply.framing == "chunked":
            sock.sendall(b"0\r\n\r\n")
        return reply.end == "clean" and reply.framing in ("chunked", "length")

    def _hold(self, sock: socket.socket) -> None:
        sock.settimeout(BOUND_S)
        try:
            gone = sock.recv(1) == b""
        except ConnectionError:
            gone = True
        if gone:
            self.left.set()


def _head(reply: Reply, parts: list[Part]) -> bytes:
    if reply.framing == "raw":
        return b""
    headers = dict(reply.headers)
    if reply.kind is not None:
        headers.setdefault("Content-Type", reply.kind)
    if reply.framing == "chunked":
        headers["Transfer-Encoding"] = "chunked"
    elif reply.framing == "close":
        headers["Connection"] = "close"
    else:
        size = sum(len(part) for part in parts if isinstance(part, bytes))
        headers["Content-Length"] = str(size if reply.end == "clean" else size + 10)
    lines = [f"HTTP/1.1 {reply.status} Prepared", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _framed(framing: Framing, part: bytes) -> bytes:
    if framing != "chunked":
        return part
    return b"%x\r\n%s\r\n" % (len(part), part) if part else b""


def _read(stream: Any, connection: int) -> Seen | None:
    first = stream.readline().decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while line := stream.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Seen(connection, first[0], first[1], headers, body)
