"""One WebSocket over gunicorn's socket: what the deck sends through and receives from.

Theory of operation.  The request's greenlet is the only reader: it reads when `receive` has no
message left, so that a client which floods is held back by TCP, and it yields before every read.
Frames leave through Outgoing.  Whoever ends the socket first (the client, `close`, a fault) decides
`closed`; then `receive` says None, the view returns, and `run` sees the closing handshake through:
what is queued, the Close of the other side, the end of its stream.  A timer cuts the connection
when that takes too long, also where a view does not return.  Source: SPEC section 8, "Closing".
"""

import logging
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from mead.actors.green import Killed, Timeout, pause, time_limit
from mead.actors.tasks import TaskSupervisor
from mead.protocols.sockets import Closed
from mead.web.logs import where
from mead.web.websocket import frames
from mead.web.websocket.deadline import ClosingDeadline
from mead.web.websocket.flusher import Flusher
from mead.web.websocket.incoming import LOST, Incoming
from mead.web.websocket.outgoing import Outgoing
from mead.web.websocket.wire import cut, half_close

log = logging.getLogger(__name__)

RECEIVE_BYTES: Final = 16_384
"""One TLS record.  What is read at once is parsed without a pause: of the smallest frames, so many
bytes hold the hub for about 12 ms."""

NORMAL: Final = 1000
BUG: Final = 1011
SLOW: Final = 1013

Registered = Callable[[Callable[[int, str], None]], AbstractContextManager[None]]
"""Makes the context in which a socket is counted and can be asked to close."""


class WebSocket:
    """See `mead.protocols.sockets.FrameSocket`."""

    __slots__ = (
        "_closed",
        "_connection",
        "_deadline",
        "_incoming",
        "_is_cut",
        "_outgoing",
        "_registered",
        "last_activity",
    )

    mode = "gunicorn"
    encode_text = staticmethod(frames.encode_text)

    def __init__(
        self,
        connection: socket.socket,
        incoming: Incoming,
        flusher: Flusher,
        tasks: TaskSupervisor,
        registered: Registered,
    ) -> None:
        self.last_activity = time.monotonic()
        self._connection = connection
        self._incoming = incoming
        self._outgoing = Outgoing(connection, flusher, tasks, self._cut)
        self._registered = registered
        self._closed: Closed | None = None
        self._deadline: ClosingDeadline | None = None
        self._is_cut = False

    @property
    def closed(self) -> Closed | None:
        return self._closed

    # -- the route's view --------------------------------------------------------------------------

    def begin(self, answer: bytes, read_ahead: bytes) -> None:
        """Send the answer to the handshake, and take what the client did not wait to send."""
        self._outgoing.put(answer)
        if read_ahead:
            self._feed(read_ahead)

    def run(self, handler: Callable[[], object]) -> None:
        """See ServedSocket.

        A killed greenlet ends here without the exception: gunicorn's own gevent worker would
        swallow it and go on to read HTTP from the connection.
        """
        with self._registered(self.close):
            try:
                self._call(handler)
                self._finish()
            except Killed:
                log.debug("a WebSocket was ended by force")
            finally:
                self._release()

    def _call(self, handler: Callable[[], object]) -> None:
        try:
            handler()
        except (Exception, Timeout) as error:  # noqa: BLE001 - a bug ends this socket alone
            log.error("a bug in a WebSocket's view: %s", where(error))
            self.close(BUG)
        else:
            self.close(NORMAL)

    # -- receiving ---------------------------------------------------------------------------------

    def receive(self, timeout_ms: float | None = None) -> str | bytes | None:
        if timeout_ms is None:
            return self._receive()
        with time_limit(timeout_ms) as limit:
            try:
                return self._receive()
            except Timeout as timeout:
                if timeout is not limit:
                    raise
                raise TimeoutError from None

    def _receive(self) -> str | bytes | None:
        while self._closed is None:
            message = self._incoming.take()
            if message is not None:
                return message
            if self._incoming.ending is None:
                self._read()
            else:
                code, reason, answered = self._incoming.ending
                self._end(Closed(code, reason), answered=answered)
        return None

    def _read(self) -> None:
        """One batch.  The pause comes first: a timeout then strikes with no bytes in hand."""
        self._outgoing.control_room()
        pause()
        try:
            self._feed(self._connection.recv(RECEIVE_BYTES))
        except (OSError, ValueError):  # a reset, broken TLS, or cut: nothing can be sent either
            self._outgoing.stop()
            self._feed(b"")

    def _feed(self, data: bytes) -> None:
        if self._incoming.feed(data):
            self.last_activity = time.monotonic()
        if self._incoming.pings:
            self._outgoing.put(frames.encode_pongs(self._incoming.pings))
            self._incoming.pings.clear()

    # -- sending -----------------------------------------------------------------------------------

    def send(self, frame: bytes, *, counts: bool = True) -> bool:
        if self._closed is not None:
            return False
        if self._outgoing.offer(frame, counts=counts):
            return True
        self._end(Closed(SLOW, "too slow"), answered=True, drop=True)
        return False

    def send_paced(self, frame: bytes) -> bool:
        return self._outgoing.put_paced(frame)

    def ping(self) -> bool:
        if self._closed is None:
            self._outgoing.put(frames.PING)
        return self._closed is None

    # -- closing -----------------------------------------------------------------------------------

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        if self._closed is None:
            self._end(Closed(code, reason), answered=True)

    def _end(self, closed: Closed, *, answered: bool, drop: bool = False) -> None:
        """`answered`: whether a Close frame is sent.  `drop`: whether it overtakes the queue."""
        self._closed = closed
        self._outgoing.seal(frames.encode_close(closed) if answered else None, drop=drop)
        self._deadline = ClosingDeadline(self._outgoing, self._cut)

    def _finish(self) -> None:
        """See the end through; the deadline bounds all of it."""
        self._outgoing.wait_until_empty()
        while not self._incoming.over:
            self._incoming.discard()
            self._read()
        half_close(self._connection)
        while not self._is_cut:
            pause()
            try:
                if not self._connection.recv(RECEIVE_BYTES):
                    break
            except (OSError, ValueError):
                break

    def _cut(self) -> None:
        """Runs in the hub, too."""
        if self._closed is None:
            self._closed = Closed(LOST)
        self._is_cut = True
        self._outgoing.stop()
        cut(self._connection)

    def _release(self) -> None:
        if self._deadline is not None:
            self._deadline.stop()
        self._cut()
