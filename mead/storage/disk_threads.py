"""Native threads in which storage waits for the disk.

Theory of operation.  A thread takes jobs one after another from a native queue, and finished jobs
go back to the hub in batches, one wake-up for all that are ready by then.  Compared with one hop
through `gevent.threadpool` for every job this doubles the syncs per second of many sessions.
Threads are started as they are needed, so a runtime that writes nothing has none.
"""

from _queue import SimpleQueue
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

import gevent
from gevent.event import AsyncResult
from gevent.threadpool import ThreadPool

from mead.actors.exits import Outcome
from mead.actors.green import time_limit

Value = TypeVar("Value")

THREADS: Final = 8
"""With 64 sessions on two cores, 4 gave 2.7 times the turns per second of one session, 8 gave 3.1
and 16 gave 3.6, at 2.5, 6 and 8.5 ms lateness of the hub (p99)."""
CLOSE_WAIT_MS: Final = 5000
"""A disk that hangs longer keeps its thread; nobody else waits for it."""


class ThreadJob(Generic[Value]):
    """A job in a thread."""

    __slots__ = ("_function", "_outcome", "_result")

    def __init__(self, function: Callable[[], Value]) -> None:
        self._function = function
        self._outcome: Outcome[Value] | None = None
        self._result: AsyncResult[Outcome[Value]] = AsyncResult()

    @property
    def done(self) -> bool:
        return self._outcome is not None

    def wait(self) -> Value:
        outcome = cast(Outcome[Value], self._result.get())
        if outcome.error is not None:
            raise outcome.error
        return cast(Value, outcome.value)

    def run(self) -> None:
        """In the thread: do it, and keep what came of it as a value."""
        try:
            self._outcome = Outcome(self._function())
        except BaseException as error:  # noqa: BLE001 - the one who waits decides
            self._outcome = Outcome(error=error)

    def tell(self) -> None:
        """In the hub: wake the one who waits."""
        self._result.set(self._outcome)


class DiskThreads:
    """Native threads that run jobs for one hub."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pool: ThreadPool | None = None
        self._loop: Any = None
        self._threads = 0
        self._unfinished = 0
        self._waiting: SimpleQueue[ThreadJob[Any] | None] = SimpleQueue()
        self._finished: deque[ThreadJob[Any]] = deque()
        self._woken = False

    def start(self, function: Callable[[], Value]) -> ThreadJob[Value]:
        """Have a thread run `function`.  Blocks on: nothing."""
        job = ThreadJob(function)
        self._unfinished += 1
        if self._unfinished > self._threads < self._limit:
            self._add_thread()
        self._waiting.put(job)
        return job

    def close(self) -> None:
        """Have every thread end after the jobs that wait already; see RealDisk.close."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for _ in range(self._threads):
            self._waiting.put(None)
        self._threads = 0
        with time_limit(CLOSE_WAIT_MS) as limit:
            try:
                pool.kill()
            except gevent.Timeout as timeout:
                if timeout is not limit:
                    raise

    def _add_thread(self) -> None:
        pool = self._pool
        if pool is None:
            # Made here and not before: a gunicorn worker forks between import and first use.
            pool = self._pool = ThreadPool(self._limit)
            self._loop = gevent.get_hub().loop
        self._threads += 1
        pool.spawn(self._work)

    def _work(self) -> None:
        """A thread's life."""
        while (job := self._waiting.get()) is not None:
            job.run()
            self._finished.append(job)
            # Set before it is read: a job that is appended while `_tell` empties the queue either
            # is seen there or finds the flag down and asks for another call.
            if not self._woken:
                self._woken = True
                self._loop.run_callback_threadsafe(self._tell)

    def _tell(self) -> None:
        """In the hub: hand back what is finished by now."""
        self._woken = False
        while self._finished:
            self._unfinished -= 1
            self._finished.popleft().tell()
