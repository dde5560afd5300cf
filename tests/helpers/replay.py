"""A server that answers with prepared bytes, in prepared pieces, and remembers its requests."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from gevent.event import Event
from gevent.server import StreamServer

Piece = bytes | Event
"""Bytes to send, or an event to wait for (at most 5 s) before going on."""


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Replay:
    """One answer for each request, in order; the last one is repeated.

    `paths` holds answers for single paths, used before the others.
    """

    answers: list[list[Piece]] = field(default_factory=list)
    paths: dict[str, list[Piece]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    closed_by_client: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._server = StreamServer(("127.0.0.1", 0), self._serve)
        self._server.start()

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(timeout=0)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bodies(self, path: str) -> list:
        """The JSON bodies that were sent to the path."""
        return [each.json for each in self.asked if each.path == path]

    def _serve(self, sock, _) -> None:
        with sock, sock.makefile("rb") as stream:
            asked = _read(stream)
            if asked is None:
                return
            self.asked.append(asked)
            answer = self.paths.get(asked.path)
            if answer is None:
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            try:
                for piece in answer:
                    if isinstance(piece, Event):
                        piece.wait(5)
                    else:
                        sock.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                self.closed_by_client.set()


def _read(stream) -> Asked | None:
    first = stream.readline().decode().split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while line := stream.readline().strip():
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Asked(first[0], first[1], headers, body)


def whole(body: bytes | dict, status: int = 200, kind: str = "application/json") -> list[Piece]:
    """An answer in one piece."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status} Word\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    return [head.encode() + data]


def stream(pieces: Iterable[Piece], kind: str = "application/x-ndjson") -> list[Piece]:
    """An answer that ends with the connection, so that nothing but its content says it is whole."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    return [head.encode(), *pieces]


def lines(*objects: dict) -> list[Piece]:
    """NDJSON, a piece for each object."""
    return [json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in objects]
