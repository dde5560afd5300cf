"""A WebSocket connection of the engine on a real pair of sockets."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import gevent

from mead.actors.tasks import TaskSupervisor
from mead.web.websocket.connection import WebSocket
from mead.web.websocket.flusher import Flusher
from mead.web.websocket.frames import encode_text
from mead.web.websocket.incoming import Incoming
from mead.web.websocket.outgoing import QUEUE_BYTES
from mead.web.websocket.wire import prepare
from tests.helpers.raw_websocket import (
    RawClient,
)
from tests.helpers.waiting import eventually

SMALL_BUFFER: Final = 4096

KIB: Final = 1024


class Rig:
    """A server's WebSocket and its client, joined by a TCP connection on loopback."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = RawClient(client)
        self.server = server
        self.tasks = TaskSupervisor()
        self.flusher = Flusher(self.tasks)
        self.registered: set[Callable[[int, str], None]] = set()
        prepare(server, 30_000)
        self.socket = WebSocket(
            server, Incoming(QUEUE_BYTES), self.flusher, self.tasks, self.register
        )

    @contextmanager
    def register(self, close: Callable[[int, str], None]) -> Iterator[None]:
        self.registered.add(close)
        self.flusher.opened()
        try:
            yield
        finally:
            self.registered.remove(close)
            self.flusher.closed()

    def run(self, view: Callable[[], object]) -> gevent.Greenlet:
        """What the request's greenlet does."""

        def serve() -> None:
            try:
                self.socket.run(view)
            finally:
                self.server.close()

        return gevent.spawn(serve)

    def drain(self) -> list[str | bytes]:
        """A view that only receives."""
        received = []
        while (message := self.socket.receive()) is not None:
            received.append(message)
        return received

    def echo(self) -> None:
        """A view that sends back."""
        while (message := self.socket.receive()) is not None:
            self.socket.send(encode_text(message.encode()))

    def wait_until_it_waits(self) -> None:
        """Until the kernel takes no more."""
        eventually(lambda: self.socket._outgoing._writer is not None)

    def send_until_full(self, frame: bytes) -> int:
        """How many frames the queue takes, once the kernel takes none."""
        self.socket.send(encode_text(b"x" * 600 * KIB))
        self.wait_until_it_waits()
        count = 0
        while self.socket.send(frame):
            count += 1
        return count
