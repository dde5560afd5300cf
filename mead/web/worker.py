"""The worker: gunicorn's gevent worker with exact room, deadlines and an orderly end.

What the stock worker lacks (each measured): it leaves a connection over the limit in the backlog
without a time limit, never cuts a TLS client that says nothing, reads the rest of an unread body
without a bound, and is killed by its master when a connection is open at SIGTERM.
Source: SPEC section 9.
"""

import os
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import gevent
from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn import util
from gunicorn.http.message import Request
from gunicorn.sock import ssl_context
from gunicorn.workers.base import Worker
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from mead.web.answers import LINGER_S, bound_unread, hang_up, linger, write_answer
from mead.web.connections import WAITING_LIMIT, Connections
from mead.web.logs import where
from mead.web.parsing import TrackedParser, refusal

RESERVE_S: Final = 3.0
"""Of graceful_timeout, kept for interrupting what still runs and stopping the tree: the master
kills the worker when it is over."""

REFUSING_LIMIT: Final = 128
"""Greenlets beside places and waiting room, for those that are being turned away."""

FRESH_S: Final = 1.0
"""How long a connection that came just before SIGTERM may take for its first request."""

READ_BYTES: Final = 8192
"""As gunicorn's own first read."""


class MeadWorker(GeventWorker):
    """One process, one hub, `cfg.worker_connections` connections and not one more."""

    head_deadline_s = 15.0
    """For a client's first byte, and from a request's first byte to the end of its head."""
    handshake_deadline_s = 10.0
    """For the TLS handshake."""
    unread_deadline_ms = 30_000
    """How long the client may let sent bytes lie unread."""

    connections: Connections
    is_busy: Callable[[], bool]
    """Whether turns run that no request waits for; they may finish as requests may."""
    leave_by: float | None = None
    """When (monotonic) the process must be gone, once it was asked to leave."""

    _wake: Event
    _pool: Pool
    _hurried = False
    _tls: ssl.SSLContext | None = None

    # -- the process -------------------------------------------------------------------------------

    def init_process(self) -> None:
        """Called in the new process; ends by calling `run`."""
        self.connections = Connections(self.worker_connections)
        self.is_busy = lambda: False
        self._wake = Event()
        self._pool = Pool(self.worker_connections + WAITING_LIMIT + REFUSING_LIMIT)
        super().init_process()

    def run(self) -> None:
        """Serve until told to leave, then let what runs finish.  The process ends with it."""
        if self.cfg.is_ssl:
            self._tls = ssl_context(self.cfg)
        servers = [self._listen(listener) for listener in self.sockets]
        while self.alive:
            self.notify()
            self._wake.wait(1.0)
        for server in servers:
            server.close()
        self._drain()

    def notify(self) -> None:
        """Tell the master that this process is well; leave when there is no master any more."""
        Worker.notify(self)
        if self.alive and self.ppid != os.getppid():
            self.log.warning("The master is gone; leaving")
            self._leave()

    def _listen(self, listener: Any) -> StreamServer:
        listener.setblocking(1)
        server = StreamServer(listener, handle=partial(self.handle, listener), spawn=self._pool)
        server.start()
        return server

    # -- leaving -----------------------------------------------------------------------------------

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: finish what runs."""
        self._leave()

    def handle_quit(self, sig: int, frame: Any) -> None:
        """SIGINT and SIGQUIT: interrupt what runs."""
        self._hurried = True
        self._leave()

    def _leave(self) -> None:
        if self.leave_by is None:
            self.leave_by = time.monotonic() + self.cfg.graceful_timeout
        self.alive = False
        self._wake.set()

    def _drain(self) -> None:
        self._leave()  # no signal, where max_requests or the reloader ended the loop
        self.connections.drain()
        cut_fresh_at = time.monotonic() + FRESH_S
        while (len(self._pool) or self.is_busy()) and self._time_left() > 0:
            self.notify()
            if time.monotonic() > cut_fresh_at:
                self.connections.cut_idle(fresh=True)
            if len(self._pool):
                self._pool.join(timeout=min(0.1, self._time_left()))
            else:
                gevent.sleep(0.05)
        if len(self._pool):
            self.log.warning("%d connections are cut: time is up", self.connections.open)
            self._pool.kill(block=True, timeout=1)

    def _time_left(self) -> float:
        """Seconds until what still runs is interrupted."""
        if self._hurried or self.leave_by is None:
            return 0.0
        return max(0.0, self.leave_by - RESERVE_S - time.monotonic())

    # -- one connection ----------------------------------------------------------------------------

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve a connection from its first byte to its last, in a greenlet of the pool."""
        if not self.connections.enter():
            self._turn_away(client)
            return
        try:
            self._serve(listener, client, addr)
        finally:
            util.close(client)
            self.connections.leave()

    def _turn_away(self, client: Any) -> None:
        """Answer 503; over TLS, where an answer would take a handshake, only close."""
        if self._tls is None:
            write_answer(client, "503 Service Unavailable", "Retry-After: 1\r\n")
            if not self.connections.crowded:  # a flood is not waited for
                linger(client, LINGER_S / 2)
        util.close(client)

    def _serve(self, listener: Any, client: Any, addr: Any) -> None:
        try:
            bound_unread(client, self.unread_deadline_ms)
            if self._tls is not None:
                with gevent.Timeout(self.handshake_deadline_s, TimeoutError):
                    client = self._tls.wrap_socket(client, server_side=True)
            self._serve_requests(listener.getsockname(), client, addr)
        except OSError as error:  # a reset, a broken handshake, a deadline: nothing to answer
            self.log.debug("A connection ended: %s", type(error).__name__)
        finally:
            util.close(client)

    def _serve_requests(self, listener_name: Any, client: Any, addr: Any) -> None:
        parser = TrackedParser(self.cfg, client, addr)
        request: Request | None = None
        patience_s = self.head_deadline_s
        try:
            while (request := self._next_request(parser, client, patience_s)) is not None:
                self.handle_request(listener_name, request, client, addr)
                patience_s = self.cfg.keepalive
        except StopIteration:  # how gunicorn says that the answer was the last one
            if not parser.is_read():
                linger(client)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - the last resort: nothing may end the worker
            self.handle_error(request, client, addr, error)

    def _next_request(self, parser: TrackedParser, client: Any, patience_s: float) -> Any:
        """The next request, or None when the client has gone.

        Raises TimeoutError, and gunicorn's errors for bytes that are no request.
        """
        if not parser.has_bytes():
            fresh = parser.mesg is None
            idle = self.connections.idle(partial(hang_up, client), fresh=fresh)
            with idle, gevent.Timeout(patience_s, TimeoutError):
                first = client.recv(READ_BYTES)
            if not first:
                return None
            parser.unreader.unread(first)
        with gevent.Timeout(self.head_deadline_s, TimeoutError):
            return next(parser)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """gunicorn's, without gevent's layer, which swallows a kill and then reads on."""
        try:
            return AsyncWorker.handle_request(self, listener_name, req, sock, addr)
        except (gevent.Timeout, SystemExit) as error:
            if not self.alive:
                raise  # SIGABRT
            self.log.error("A bug in a request: %s", where(error))
            raise StopIteration from None

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer bytes that are no request, or a bug outside of the application."""
        status = refusal(exc)
        if status is None:
            self.log.error("A bug in a request: %s", where(exc))
        else:
            self.log.info("%s sent no request: %s", addr[0] if addr else "?", type(exc).__name__)
        write_answer(client, status or "500 Internal Server Error")
        linger(client)
