"""A proxy that adds a header to every request, for clients that cannot send one."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import gevent
from gevent.server import StreamServer


@contextmanager
def adding(header: str, port: int) -> Iterator[int]:
    """The port of a proxy to `127.0.0.1:port` that adds `header` (`Name: value`)."""

    def serve(client: socket.socket, _: object) -> None:
        with client, socket.create_connection(("127.0.0.1", port)) as upstream:
            answers = gevent.spawn(_pour, upstream, client)
            with suppress(OSError):
                _requests(client, upstream, header.encode())
            with suppress(OSError):
                upstream.shutdown(socket.SHUT_WR)
            answers.join()

    server = StreamServer(("127.0.0.1", 0), serve)
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop(timeout=5)


def _pour(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _requests(client: socket.socket, upstream: socket.socket, header: bytes) -> None:
    """Forward request after request; their bodies have a Content-Length or are chunked."""
    stream = client.makefile("rb")
    while line := stream.readline():
        head = [line, header + b"\r\n"]
        length, chunked = 0, False
        while (line := stream.readline()).strip():
            head.append(line)
            name, _, value = line.lower().partition(b":")
            if name == b"content-length":
                length = int(value)
            chunked |= name == b"transfer-encoding"
        upstream.sendall(b"".join(head) + b"\r\n")
        if chunked:
            _chunks(stream, upstream)
        else:
            upstream.sendall(stream.read(length))


def _chunks(stream: socket.SocketIO, upstream: socket.socket) -> None:
    size = -1
    while size != 0:
        line = stream.readline()
        size = int(line, 16)
        upstream.sendall(line + stream.read(size + 2))
