"""How long a closing WebSocket is waited for."""

from collections.abc import Callable
from typing import Final

import gevent

from mead.web.websocket.outgoing import Outgoing

TICK_S: Final = 0.25

QUIET_TICKS: Final = 4
"""A second in which the client takes nothing, or has nothing more to take."""

MOST_TICKS: Final = 24
"""Six seconds, for a slow client that still reads what it was sent before the Close."""


class ClosingDeadline:
    """Calls `cut` in the hub when the client has had its time."""

    __slots__ = ("_cut", "_outgoing", "_quiet", "_sent", "_ticks", "_timer")

    def __init__(self, outgoing: Outgoing, cut: Callable[[], None]) -> None:
        """Starts at once."""
        self._outgoing = outgoing
        self._cut = cut
        self._sent = outgoing.sent_bytes
        self._quiet = self._ticks = 0
        self._timer = gevent.get_hub().loop.timer(TICK_S, TICK_S)
        self._timer.start(self._tick)

    def stop(self) -> None:
        """Call nothing any more.  Safe to call twice."""
        self._timer.stop()
        self._timer.close()

    def _tick(self) -> None:
        sent, self._sent = self._sent, self._outgoing.sent_bytes
        self._quiet = 0 if self._sent > sent else self._quiet + 1
        self._ticks += 1
        if self._quiet >= QUIET_TICKS or self._ticks >= MOST_TICKS:
            self.stop()
            self._cut()
