"""A server that answers every request with bytes without end, in a process of its own.

Only so are its bytes always there: in the process of the test it would itself have to wait for its
turn.  `flooding(KIND)` gives its port.
"""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import gevent

_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
_CHUNKED = _EVENTS + b"Transfer-Encoding: chunked\r\n\r\n"
_BOUND_S = 5

FLOODS: dict[str, tuple[bytes, bytes]] = {
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-Header: value\r\n" * 1000),
    "a status line": (b"HTTP/1.1 200 ", b"x" * 65536),
    "trailers": (_CHUNKED + b"0\r\n", b"X-Trailer: value\r\n" * 1000),
    "long trailers": (_CHUNKED + b"0\r\n", b"X-Trailer: " + b"x" * 60_000 + b"\r\n"),
    "comments": (_EVENTS + b"\r\n", b": still here\n\n" * 1000),
    "blank lines": (_EVENTS + b"\r\n", b"\n" * 65536),
    "tiny chunks": (_CHUNKED, b"1\r\n:\r\n" * 1000),
    "chunk extensions": (_CHUNKED, b"1;" + b"x" * 60_000 + b"\r\n:\r\n"),
}
"""What comes once, and what comes again and again."""


@contextmanager
def flooding(kind: str) -> Iterator[int]:
    """The port of a running server."""
    server = subprocess.Popen(
        [sys.executable, __file__, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        with gevent.Timeout(_BOUND_S):
            port = int(server.stdout.readline())
        yield port
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
        server.stdout.close()


def _serve(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            taken, _ = listener.accept()
            threading.Thread(target=_flood, args=(taken, *FLOODS[kind]), daemon=True).start()


def _flood(sock: socket.socket, once: bytes, again: bytes) -> None:
    with sock:
        sock.recv(65536)
        try:
            sock.sendall(once)
            while True:
                sock.sendall(again)
        except OSError:
            return


def _end_with_the_parent() -> None:
    sys.stdin.buffer.read()
    sys.exit()


if __name__ == "__main__":
    threading.Thread(target=_serve, args=(sys.argv[1],), daemon=True).start()
    _end_with_the_parent()
