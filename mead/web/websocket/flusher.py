"""One greenlet that carries the frames of all sockets to the kernel.

Theory of operation.  A frame is not sent where it is given but when the giver next waits: a burst
of frames to one socket becomes one send, and a frame for 500 sockets takes 500 sends and no switch
between greenlets.  A send that would block makes that socket's own writer take over.  So an idle
socket needs no greenlet beside the one that reads.
"""

from typing import Final, Protocol

from mead.actors.green import Event, pause
from mead.actors.tasks import Task, TaskSupervisor

SOCKETS_IN_A_ROW: Final = 64
"""Then every other greenlet may run: about half a millisecond."""


class Flushable(Protocol):
    """A queue that can be carried to the kernel."""

    def flush(self) -> None:
        """Send what the kernel takes.  Must neither block nor raise."""
        ...


class Flusher:
    """Runs while any socket is open."""

    def __init__(self, tasks: TaskSupervisor) -> None:
        self._tasks = tasks
        self._open = 0
        self._waiting: list[Flushable] = []
        self._wake = Event()
        self._task: Task[None] | None = None

    def opened(self) -> None:
        """A socket more."""
        self._open += 1

    def closed(self) -> None:
        """A socket less; the last one ends the greenlet."""
        self._open -= 1
        self._wake.set()

    def add(self, queue: Flushable) -> None:
        """Have `queue` flushed soon."""
        self._waiting.append(queue)
        if len(self._waiting) == 1:
            self._wake.set()
            if self._task is None or self._task.done:
                self._task = self._tasks.start(self._run, name="WebSocket flusher")

    def _run(self) -> None:
        while self._open or self._waiting:
            self._wake.wait()
            self._wake.clear()
            waiting, self._waiting = self._waiting, []
            for number, queue in enumerate(waiting, 1):
                queue.flush()
                if number % SOCKETS_IN_A_ROW == 0:
                    pause()
