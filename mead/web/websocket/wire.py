"""gunicorn's socket, plain or TLS, under gevent: what its own methods do not do."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

SEND_BUFFER_BYTES: Final = 131_072
"""The kernel makes 300 KiB of it.  By default a client that stops reading holds up to 4 MB there,
in which the frames are too late to be dropped."""


def connection_of(environ: Mapping[str, Any]) -> socket.socket | None:
    """The request's connection; None under another server than gunicorn."""
    return environ.get("gunicorn.socket")


def read_ahead(environ: Mapping[str, Any]) -> bytes:
    """What gunicorn has read behind the request's head: frames that came in the same packet."""
    return environ["wsgi.input"].reader.unreader.take_buffered()


def prepare(connection: socket.socket, unread_deadline_ms: int) -> None:
    """Options for a WebSocket; `unread_deadline_ms` is how long sent bytes may lie unread."""
    with suppress(OSError):  # the client has gone; the first read will say so
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                connection.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread_deadline_ms
                )


def send_now(connection: socket.socket, data: bytes | memoryview) -> int:
    """How many bytes the kernel took, perhaps 0.  Raises OSError.  Blocks on: nothing.

    gevent's TLS socket has no such call, so its timeout is zero for the moment; no other greenlet
    runs meanwhile.
    """
    connection.settimeout(0.0)
    try:
        return connection.send(data)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return 0
    finally:
        connection.settimeout(None)


def half_close(connection: socket.socket) -> None:
    """Say that nothing more will be sent; reading goes on.  Blocks on: nothing."""
    with suppress(OSError, ValueError):
        if isinstance(connection, ssl.SSLSocket):
            _say_goodbye(connection)
        socket.socket.shutdown(connection, socket.SHUT_WR)


def cut(connection: socket.socket) -> None:
    """End it both ways, and wake whoever waits for it.  Blocks on: nothing.

    Not the TLS socket's own `shutdown`, which takes its session away under a reader.
    """
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _say_goodbye(connection: ssl.SSLSocket) -> None:
    """TLS's close_notify, without waiting for the other side's."""
    connection.settimeout(0.0)
    try:
        connection.unwrap()
    except (OSError, ValueError):  # it is sent; what comes back is not waited for
        pass
    finally:
        connection.settimeout(None)
