"""Whether the hub is on time: a greenlet that measures how late it wakes, a thread that sees why.

Greenlets share one thread, so one that computes or blocks holds up all.  A beat every 50 ms shows
how late the hub is.  gevent's monitoring thread looks on from outside: when the beat has stopped
for 250 ms it notes where the thread stands, and the beat logs that once the hub runs again (a
foreign thread must not touch a logger whose locks are gevent's).  Source: SPEC section 3.
"""

import logging
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import gevent
from gevent.hub import Hub

from mead.turn import iso_now

log = logging.getLogger(__name__)

BEAT_S: Final = 0.05
HELD_S: Final = 0.25
"""A hub held for longer is reported."""

LOOK_S: Final = HELD_S / 2
"""How often the thread looks: often enough to see every hold of that length from inside."""

WINDOW_BEATS: Final = 1200
"""The worst lateness is that of the last minute."""

NEVER_S: Final = 1e9

FRAMES: Final = 12
"""Innermost callers that a report names."""


class HubMonitor:
    """Numbers for /healthz and /metrics; `run` is a greenlet's whole life."""

    def __init__(self) -> None:
        self.held = 0
        """How often the hub was held too long."""
        self.last_held: dict[str, Any] | None = None
        """`at`, `held_ms` and `stack` of the last time."""
        self._late_s: deque[float] = deque(maxlen=WINDOW_BEATS)
        self._last_beat = 0.0
        self._seen: tuple[str, ...] = ()

    def run(self) -> None:
        """Beat until killed, with gevent's monitoring thread looking on."""
        hub = gevent.get_hub()
        self._last_beat = time.monotonic()
        unwatch = _watch(hub, self._look)
        try:
            while True:
                gevent.sleep(BEAT_S)
                self._beat()
        finally:
            unwatch()

    def report(self) -> dict[str, Any]:
        """Lateness of the last beat and the worst of a minute in milliseconds, and the holds."""
        late = self._late_s
        return {
            "late_ms": round(late[-1] * 1000, 1) if late else 0.0,
            "late_max_ms": round(max(late) * 1000, 1) if late else 0.0,
            "held": self.held,
            "last_held": self.last_held,
        }

    def _beat(self) -> None:
        now = time.monotonic()
        since_s = now - self._last_beat
        self._last_beat = now
        self._late_s.append(max(0.0, since_s - BEAT_S))
        stack, self._seen = self._seen, ()
        if since_s >= HELD_S:
            self._note(round(since_s * 1000), stack)

    def _note(self, held_ms: int, stack: tuple[str, ...]) -> None:
        self.held += 1
        self.last_held = {"at": iso_now(), "held_ms": held_ms, "stack": list(stack)}
        log.warning("the hub was held for %d ms: %s", held_ms, " < ".join(stack) or "not seen")

    def _look(self, hub: Hub) -> None:
        """Runs in the monitoring thread: it only reads, and binds one name."""
        if time.monotonic() - self._last_beat >= HELD_S and not self._seen:
            frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - documented
            self._seen = tuple(_names(frames.get(hub.thread_ident)))


def _names(frame: FrameType | None) -> list[str]:
    """`module.function:line` from the innermost out; no values, no paths."""
    names: list[str] = []
    while frame is not None and len(names) < FRAMES:
        module = frame.f_globals.get("__name__", "?")
        names.append(f"{module}.{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return names


def _watch(hub: Hub, look: Callable[[Hub], None]) -> Callable[[], None]:
    """Have gevent's monitoring thread call `look`; returns what ends that.

    gevent's own report is put off for ever: it walks every object of the process while it holds the
    lock that the hub needs, and prints the values of greenlet locals.
    """
    gevent.config.monitor_thread = True
    gevent.config.max_blocking_time = LOOK_S  # the thread's first sleep
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it also offers to watch the memory, if psutil were here
        thread: Any = hub.start_periodic_monitoring_thread()
    thread.add_monitoring_function(look, LOOK_S)
    gevent.config.max_blocking_time = NEVER_S
    return lambda: thread.add_monitoring_function(look, None)
