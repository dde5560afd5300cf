"""Answers that the worker itself gives, without the application, and the end of a connection."""

import select
import socket
from contextlib import suppress
from typing import Any, Final

from gunicorn import util

LINGER_S: Final = 1.0
LINGER_BYTES: Final = 65_536
"""How long and how much to read from a client that still sends after its answer: closing at once
would reset the connection, and the answer might be lost.  Source: SPEC section 6."""


def write_answer(client: Any, status: str, extra: str = "") -> None:
    """Send `status` (`503 Service Unavailable`) with a small JSON body; the connection ends."""
    code = status.split(" ", 1)[1].lower().replace(" ", "_")
    body = f'{{"error":"{code}"}}'
    head = (
        f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{extra}\r\n"
    )
    with suppress(OSError):
        client.sendall((head + body).encode("latin-1"))


def linger(client: Any, seconds: float = LINGER_S) -> None:
    """Close for writing, read what still comes within the bounds, close."""
    util.close_graceful(client, timeout=seconds, max_drain=LINGER_BYTES)


def hang_up(client: Any) -> None:
    """Have the greenlet that waits for a request see the end, unless the request is there already.

    Past the TLS layer, which would forget what it needs for the read that is waiting.
    """
    if not select.select([client], [], [], 0)[0]:
        socket.socket.shutdown(client, socket.SHUT_RDWR)


def bound_unread(client: Any, deadline_ms: int) -> None:
    """Have the kernel drop a client that lets sent bytes lie unread for that long.

    Counts from the last progress, so that a slow reader of a long answer is not cut.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT") and client.family != socket.AF_UNIX:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, deadline_ms)
