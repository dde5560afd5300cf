"""What the rest of Mead needs of gevent to wait, to yield and to be ended.

gevent is named only in the few modules that own a greenlet, a socket or a child process; all others
take these names, so that the scheduler could be read (and changed) in one place.
"""

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import gevent
from gevent import GreenletExit, Timeout, monkey
from gevent.event import AsyncResult, Event
from gevent.lock import BoundedSemaphore, RLock
from gevent.queue import Empty, Queue

Value = TypeVar("Value")

Killed = GreenletExit
"""Raised inside a greenlet that is told to end.  Not an Exception: let it pass."""


def is_patched() -> bool:
    """Whether gevent has made this process's standard library cooperative."""
    return monkey.is_module_patched("socket") and monkey.is_module_patched("threading")


def interrupt_quietly() -> None:
    """Have a Ctrl-C raise KeyboardInterrupt without gevent printing its traceback first."""
    hub: Any = gevent.get_hub()
    hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)


@contextmanager
def interrupted_here() -> Generator[None]:
    """Have a Ctrl-C raise KeyboardInterrupt in this greenlet, while the block runs.

    Python raises it in whichever greenlet happens to run, a turn's own handler among them.
    For the main thread.
    """
    me, loop = gevent.getcurrent(), gevent.get_hub().loop

    def strike(*_: object) -> None:
        loop.run_callback(me.throw, KeyboardInterrupt)

    previous = signal.signal(signal.SIGINT, strike)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def pause() -> None:
    """Let every other ready greenlet run once, and sockets and timers that are due be seen.

    `sleep(0)` alone the loop repeats up to fifty times before it looks at sockets and timers.
    """
    hub: Any = gevent.get_hub()
    hub.wait(hub.loop.timer(0))
    gevent.sleep(0)


def loop_rounds() -> int:
    """How often the loop has gone round: while it stands still, no socket or timer was looked at.

    It always stands still where the loop does not count (libuv).
    """
    loop: Any = gevent.get_hub().loop
    return getattr(loop, "iteration", 0)


def with_pauses(items: Iterable[Value], every: int) -> Iterator[Value]:
    """The items, and a turn for everyone else after each `every` of them."""
    for place, item in enumerate(items, start=1):
        yield item
        if place % every == 0:
            pause()


def in_thread(function: Callable[[], Value]) -> Value:
    """What `function` returns or raises, run in a thread because it blocks and cannot be helped.

    The thread goes on when the waiting greenlet is killed.
    """
    return gevent.get_hub().threadpool.apply(function)


def sleep_ms(duration_ms: float) -> None:
    """Wait that long without holding up anyone else."""
    gevent.sleep(duration_ms / 1000)


def time_limit(duration_ms: float | None) -> Timeout:
    """A context manager that raises itself (`Timeout`, not an Exception) when time is up.

    `with time_limit(500) as limit: ...` and `except Timeout as t: if t is not limit: raise`.
    """
    return Timeout.start_new(None if duration_ms is None else duration_ms / 1000)


__all__ = [
    "AsyncResult",
    "BoundedSemaphore",
    "Empty",
    "Event",
    "Killed",
    "Queue",
    "RLock",
    "Timeout",
    "in_thread",
    "interrupt_quietly",
    "interrupted_here",
    "is_patched",
    "pause",
    "sleep_ms",
    "time_limit",
]
