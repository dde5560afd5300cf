"""The WebSockets of one process: what wsgi hands to the blueprint that declares their route."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from mead.actors.tasks import TaskSupervisor
from mead.protocols.sockets import UpgradeRefused
from mead.web.connections import Connections
from mead.web.websocket.connection import WebSocket
from mead.web.websocket.flusher import Flusher
from mead.web.websocket.handshake import answer
from mead.web.websocket.incoming import Incoming
from mead.web.websocket.wire import connection_of, prepare, read_ahead

MESSAGE_BYTES: Final = 1_048_576
"""Source: seed A9, "The transport itself bounds a frame at 1 MiB"."""

UNREAD_DEADLINE_MS: Final = 120_000
"""Longer than the deck's idle_timeout_ms, which is to end a silent client first."""


class WebSocketEngine:
    """See `mead.protocols.sockets.SocketEngine`."""

    def __init__(
        self,
        connections: Connections,
        *,
        subprotocols: Sequence[str] = (),
        message_bytes: int = MESSAGE_BYTES,
        unread_deadline_ms: int = UNREAD_DEADLINE_MS,
    ) -> None:
        """`connections` closes the sockets when the worker leaves.

        `subprotocols`: the first that a client offers is told to it.  `message_bytes` bounds a
        message of a client's, which is told 1009.  `unread_deadline_ms`: how long a client may let
        sent bytes lie unread before its connection is dropped.
        """
        self._connections = connections
        self._subprotocols = tuple(subprotocols)
        self._message_bytes = message_bytes
        self._unread_deadline_ms = unread_deadline_ms
        self._tasks = TaskSupervisor("WebSockets")
        self._flusher = Flusher(self._tasks)

    def check(self, environ: Mapping[str, Any]) -> None:
        self._answer(environ)

    def accept(self, environ: Mapping[str, Any]) -> WebSocket:
        head = self._answer(environ)
        connection = connection_of(environ)
        if connection is None:
            raise UpgradeRefused(501, "not_implemented", {})
        prepare(connection, self._unread_deadline_ms)
        websocket = WebSocket(
            connection,
            Incoming(self._message_bytes),
            self._flusher,
            self._tasks,
            self._registered,
        )
        websocket.begin(head, read_ahead(environ))
        return websocket

    def _answer(self, environ: Mapping[str, Any]) -> bytes:
        if self._connections.draining:
            raise UpgradeRefused(503, "draining", {"Retry-After": "1"})
        return answer(environ, self._subprotocols)

    @contextmanager
    def _registered(self, close: Callable[[int, str], None]) -> Generator[None]:
        unregister = self._connections.register(close)
        self._flusher.opened()
        try:
            yield
        finally:
            unregister()
            self._flusher.closed()
