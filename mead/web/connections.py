"""The connections of a worker: how many there may be, which are idle, and how all are closed."""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from mead.actors.green import BoundedSemaphore

log = logging.getLogger(__name__)

PATIENCE_MS: Final = 1000
"""How long a connection over the limit waits for a place: seed A7 has "about a second"."""

WAITING_LIMIT: Final = 64
"""How many may wait so at once; one more is closed at once, so that a flood waits no longer."""

Close = Callable[[int, str], None]
"""`close(code, reason)` asks one WebSocket to close.  It only enqueues and must not wait."""

HangUp = Callable[[], None]
"""Ends the reading of one client's socket, so that its greenlet sees the end of the stream."""


class Connections:
    """Exactly `limit` places, and the doors through which their holders can be asked to leave."""

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self.open = 0
        """Connections that hold a place."""
        self.refused = 0
        """Connections that found none, since the start."""
        self.draining = False
        """Whether the worker is leaving: upgrades and new sessions are answered with 503."""
        self._places = BoundedSemaphore(limit)
        self._waiting = 0
        self._idle: dict[HangUp, bool] = {}
        self._closers: set[Close] = set()

    @property
    def crowded(self) -> bool:
        """Whether as many wait for a place as may wait."""
        return self._waiting >= WAITING_LIMIT

    def enter(self, patience_ms: float = PATIENCE_MS) -> bool:
        """Take a place, waiting at most `patience_ms` for one; False when there is none."""
        if not self._places.acquire(blocking=False) and not self._wait(patience_ms):
            self.refused += 1
            return False
        self.open += 1
        return True

    def leave(self) -> None:
        """Give the place back, once the socket is closed."""
        self.open -= 1
        self._places.release()

    def _wait(self, patience_ms: float) -> bool:
        if self.crowded:
            return False
        self._waiting += 1
        try:
            return self._places.acquire(timeout=patience_ms / 1000)
        finally:
            self._waiting -= 1

    @contextmanager
    def idle(self, hang_up: HangUp, *, fresh: bool) -> Generator[None]:
        """While the block runs, the client owes a request and may be cut.

        `fresh`: it has just come, so that its first request may be on its way.
        """
        self._idle[hang_up] = fresh
        try:
            if self.draining and not fresh:
                _call(hang_up)
            yield
        finally:
            del self._idle[hang_up]

    def register(self, close: Close) -> Callable[[], None]:
        """Have `close` called when all WebSockets must go; returns what unregisters it."""
        self._closers.add(close)
        return lambda: self._closers.discard(close)

    def close_all(self, code: int, reason: str) -> None:
        """Ask every registered WebSocket to close.  Blocks on: nothing."""
        for close in tuple(self._closers):
            try:
                close(code, reason)
            except Exception as error:  # noqa: BLE001 - one socket's fault must not spare the others
                log.warning("a WebSocket could not be asked to close: %s", type(error).__name__)

    def drain(self) -> None:
        """From now on no request follows another: the idle are cut, the WebSockets told to go."""
        self.draining = True
        self.cut_idle(fresh=False)
        self.close_all(1001, "restart")

    def cut_idle(self, *, fresh: bool) -> None:
        """Cut those that owe a request, `fresh` ones too or the others alone."""
        for hang_up, is_fresh in tuple(self._idle.items()):
            if fresh or not is_fresh:
                _call(hang_up)


def _call(hang_up: HangUp) -> None:
    with suppress(OSError):  # the client was quicker
        hang_up()
