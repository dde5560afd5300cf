"""A mailbox with one reader, and the answer to one call.

gevent's Queue and AsyncResult serve any number of waiters and keep lists for them.  An actor is the
only reader of its mailbox, and a caller the only one who waits for its answer; on a bare Waiter a
round trip takes half the time, and a turn makes three of them.  Both are used from greenlets of one
thread, and from its hub.
"""

from collections import deque
from typing import Any

from gevent import Timeout, get_hub
from gevent.hub import Waiter


class Reply:
    """Where the answer to a call goes; the first one counts."""

    __slots__ = ("_done", "_error", "_run_callback", "_value", "_waiter")

    def __init__(self) -> None:
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._waiter: Waiter[None] = Waiter()
        self._run_callback = get_hub().loop.run_callback

    def ready(self) -> bool:
        """Whether there is an answer."""
        return self._done

    def set(self, value: object) -> None:
        """Answer.  Blocks on: nothing (safe in the hub)."""
        if not self._done:
            self._done = True
            self._value = value
            self._run_callback(self._waiter.switch, None)

    def set_exception(self, error: BaseException) -> None:
        """Have the caller raise `error`.  Blocks on: nothing (safe in the hub)."""
        if not self._done:
            self._done = True
            self._error = error
            self._run_callback(self._waiter.switch, None)

    def get(self, timeout_s: float | None = None) -> Any:
        """The answer, as soon as there is one; for the caller alone.

        Raises the error that was set, and TimeoutError.  Blocks on: the actor.
        """
        if not self._done:
            if timeout_s is None:
                self._waiter.get()
            else:
                with Timeout(timeout_s, False):  # pyright: ignore[reportArgumentType] - gevent documents it
                    self._waiter.get()
        if self._error is not None:
            raise self._error
        if not self._done:
            raise TimeoutError
        return self._value


Envelope = tuple[Reply | None, object]


class Mailbox:
    """What an actor has still to read."""

    __slots__ = ("_items", "_parked", "_run_callback", "_waiter")

    def __init__(self) -> None:
        self._items: deque[Envelope] = deque()
        self._parked = False
        """Whether the reader waits and nobody has woken it yet."""
        self._waiter: Waiter[None] = Waiter()
        self._run_callback = get_hub().loop.run_callback

    def __len__(self) -> int:
        return len(self._items)

    def put(self, envelope: Envelope) -> None:
        """Add a message.  Blocks on: nothing (safe in the hub)."""
        self._items.append(envelope)
        if self._parked:
            self._parked = False
            self._run_callback(self._waiter.switch, None)

    def get(self) -> Envelope:
        """The next message; for the actor's own greenlet alone.  Blocks on: there being one."""
        items = self._items
        while not items:
            self._parked = True
            self._waiter.get()
            self._waiter.clear()
        return items.popleft()
