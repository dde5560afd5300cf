"""Talking MCP to a real server over HTTP, without any SDK."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import requests

from tests.helpers.mcp_messages import call
from tests.helpers.server import MCP_TOKEN, Server

AUTHORIZED = {"Authorization": f"Bearer {MCP_TOKEN}"}


def post(server: Server, message: Any, **headers: Any) -> requests.Response:
    """POST a message, or bytes as they are; a header that is None is left out."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    chosen = {"Content-Type": "application/json", **AUTHORIZED, **headers}
    sent = {name: value for name, value in chosen.items() if value is not None}
    return server.request("POST", "/mcp", data=body, headers=sent)


def use(server: Server, name: str, **arguments: Any) -> Any:
    """Call a tool that does what it is asked; its structured result."""
    answer = post(server, call(name, arguments)).json()
    assert answer["result"]["isError"] is False, answer
    return answer["result"]["structuredContent"]


def raw_post(body: bytes, *lines: str) -> bytes:
    """A whole request for a bare socket."""
    head = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Authorization: Bearer {MCP_TOKEN}",
        f"Content-Length: {len(body)}",
        *lines,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def watch(server: Server, message: Any) -> tuple[socket.socket, Iterator[Any]]:
    """Send a call whose progress is wanted; the connection, and the events as they come.

    A comment is None.
    """
    connection = server.connect()
    accept = "Accept: application/json, text/event-stream"
    connection.sendall(raw_post(json.dumps(message).encode(), accept))
    return connection, _events(connection)


def _events(connection: socket.socket) -> Iterator[Any]:
    stream = connection.makefile("rb")
    while stream.readline().strip():  # the head
        pass
    while size := int(stream.readline(), 16):  # one event is one chunk
        event = stream.read(size)
        stream.readline()
        yield None if event.startswith(b":") else json.loads(event.split(b"data: ", 1)[1])
