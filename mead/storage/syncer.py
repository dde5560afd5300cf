"""The `interval` policy: logs that were written to are synced together, every so many ms.

A task is started by the first write that waits for a sync and ends when none waits any more, so an
idle runtime has no greenlet and no timer for it.
"""

import logging

from mead.actors.green import sleep_ms
from mead.actors.tasks import Task, TaskSupervisor, wait_all
from mead.errors import PersistenceError
from mead.storage.log import RecordLog

log = logging.getLogger(__name__)


class Syncer:
    """Syncs the logs it is told of, each interval once."""

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._waiting: set[RecordLog] = set()
        self._tasks = TaskSupervisor("storage syncer")
        self._loop: Task[None] | None = None

    def add(self, records: RecordLog) -> None:
        """Have it synced within the interval.  Blocks on: nothing."""
        self._waiting.add(records)
        if self._loop is None or self._loop.done:
            self._loop = self._tasks.start(self._run, name="storage syncer")

    def discard(self, records: RecordLog) -> None:
        """Forget a log that is closed."""
        self._waiting.discard(records)

    def close(self) -> None:
        """End the task; what still waits is not synced.  Blocks on: the task's end."""
        self._tasks.stop()

    def _run(self) -> None:
        while self._waiting:
            sleep_ms(self._interval_ms)
            due, self._waiting = self._waiting, set()
            # Side by side: a log whose disk is slow does not hold up the others.
            wait_all([self._tasks.start(lambda each=each: _sync(each)) for each in due])


def _sync(records: RecordLog) -> None:
    try:
        if not records.poisoned:
            records.sync()
    except PersistenceError as error:
        log.warning("a log could not be synced and will be rewritten: %s", error)
