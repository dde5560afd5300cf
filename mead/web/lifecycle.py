"""The tree in the worker: started before the first request is taken, stopped after the last."""

import gc
import logging
import mmap
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import gevent

from mead.actors.exits import Exit, Outcome
from mead.actors.tasks import Task, TaskSupervisor
from mead.errors import ConfigurationError, MeadError, PersistenceError, StorageLocked
from mead.protocols import Listener
from mead.web.connections import Connections
from mead.web.logs import where
from mead.web.monitor import HubMonitor
from mead.web.worker import MeadWorker

log = logging.getLogger(__name__)

PROCESS: Final = "mead.web"
FAULTS: Final = "mead.faults"
"""Where an application keeps its WebProcess, or the ConfigurationError that it has instead."""

LOCK_WAIT_RESERVE_S: Final = 5
"""Beyond graceful_timeout, which the worker before this one may take to let go of the storage."""

STOP_S: Final = 10.0
"""For stopping the tree, where no master waits with a time limit."""

STATUS: Final[dict[type[MeadError], int]] = {
    ConfigurationError: os.EX_CONFIG,
    StorageLocked: os.EX_TEMPFAIL,
    PersistenceError: os.EX_IOERR,
}
"""Exit status of a worker whose tree does not start; the master then ends with the same."""


COLLECT_AFTER: Final = 5000
"""New objects before the garbage collector looks for rings among them.  After every 700, as Python
begins with, it takes a sixth of what a turn costs; Mead makes few rings, and none for each turn."""


class Runtime(Protocol):
    """What the process needs of `mead.api.Mead`."""

    listener: Listener | None

    def start(self, *, lock_wait_ms: float) -> object: ...

    def stop(self) -> None: ...

    def on_end(self, callback: Callable[[Exit], Any]) -> None: ...

    def status(self) -> dict[str, Any]: ...


class EndMark:
    """One byte that a worker leaves to its master: the exit status, if it ended on purpose.

    gunicorn tells `child_exit` which worker ended, not how.  Shared memory, made before the fork.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1)

    def set(self, status: int) -> None:
        """Called in the worker."""
        self._memory[0] = status

    def take(self) -> int:
        """Called in the master, once: 0 if the worker said nothing."""
        status = self._memory[0]
        self._memory.close()
        return status


class WebProcess:
    """What one worker process runs beside the application."""

    def __init__(self, runtime: Runtime, maximum_connections: int) -> None:
        self.runtime = runtime
        self.connections = Connections(maximum_connections)
        self.monitor = HubMonitor()
        self._tasks = TaskSupervisor("web")

    def start(self, worker: Any) -> None:
        """Start the tree; returns when it takes turns.  Raises SystemExit if it does not start.

        The worker keeps telling its master that it is well: waiting for the storage of the worker
        before may take longer than the master's patience.
        """
        if isinstance(worker, MeadWorker):
            worker.connections = self.connections
            worker.is_busy = lambda: self.runtime.status()["turns"] > 0
        else:
            log.warning(
                "worker class %s: no exact limit of connections, no deadlines and no clean drain;"
                " leave out -k to have them",
                type(worker).__name__,
            )
        self._tasks.start(self.monitor.run, name="hub monitor")
        self.runtime.listener = _listener(worker)
        self.runtime.on_end(lambda exit_: self._tree_ended(worker, exit_))
        lock_wait_ms = (worker.cfg.graceful_timeout + LOCK_WAIT_RESERVE_S) * 1000
        starting = self._tasks.start(
            lambda: self.runtime.start(lock_wait_ms=lock_wait_ms), name="start"
        )
        error = self._wait(worker, starting).error
        if error is not None:
            leave(worker, error)
        calm_collector()
        log.info("Mead is ready")

    def stop(self, worker: Any) -> None:
        """Stop the tree within the time that is left.  Source: SPEC section 9."""
        leave_by = getattr(worker, "leave_by", None)
        bound_s = STOP_S if leave_by is None else max(1.0, leave_by - time.monotonic() - 0.5)
        stopping = self._tasks.start(self.runtime.stop, name="stop")
        outcome = stopping.wait(bound_s * 1000)
        if outcome is None:
            log.error("Mead did not stop within %.1f s", bound_s)
        elif outcome.error is not None:
            log.error("Mead did not stop in order: %s", where(outcome.error))
        else:
            log.info("Mead has stopped")
        self._tasks.stop(timeout_ms=500)

    def _wait(self, worker: Any, starting: Task[object]) -> Outcome[object]:
        while (outcome := starting.wait(200)) is None:
            worker.notify()
            if not worker.alive:
                starting.kill()
                starting.wait(1000)
                raise SystemExit(0)
        return outcome

    def _tree_ended(self, worker: Any, exit_: Exit) -> None:
        """The root supervisor gave up: end the process, so that the master starts a new one."""
        log.error("Mead has ended (%s); the worker exits with %d", exit_.cause, os.EX_SOFTWARE)
        worker.end_mark.set(os.EX_SOFTWARE)
        gevent.spawn(_exit, os.EX_SOFTWARE)


def _listener(worker: Any) -> Listener | None:
    """The first network socket that the worker accepts from; None if there are only others."""
    scheme = "https" if worker.cfg.is_ssl else "http"
    for each in worker.sockets:
        name: Any = each.getsockname()
        if not isinstance(name, str | bytes):  # as a Unix socket's is
            return Listener(scheme, str(name[0]), int(name[1]))
    return None


def start(worker: Any) -> None:
    """The hook `post_worker_init`.  Raises SystemExit if the application cannot serve."""
    extensions: Mapping[str, Any] = worker.wsgi.extensions
    if FAULTS in extensions:
        leave(worker, extensions[FAULTS])
    extensions[PROCESS].start(worker)


def calm_collector() -> None:
    """Have the collector look less often, and never at what was loaded for good.

    Modules and the application are a hundred thousand objects: looking at them held the hub for
    tens of milliseconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def stop(worker: Any) -> None:
    """The hook `worker_exit`: also called for a worker that did not come far."""
    app = getattr(worker, "wsgi", None)
    process: WebProcess | None = None if app is None else app.extensions.get(PROCESS)
    if process is not None:
        process.stop(worker)


def leave(worker: Any, error: BaseException) -> None:
    """End a worker that cannot serve, with one line for each fault.  Raises SystemExit."""
    if isinstance(error, ConfigurationError):
        for fault in error.faults:
            log.error("configuration: %s", fault)
    elif isinstance(error, MeadError):
        log.error("%s", error)
    else:
        log.error("Mead could not start: %s", where(error))
    status = next(
        (code for kind, code in STATUS.items() if isinstance(error, kind)), os.EX_SOFTWARE
    )
    worker.end_mark.set(status)
    raise SystemExit(status)


def _exit(status: int) -> None:
    """Ends the process from any greenlet: gevent hands SystemExit to the main one."""
    raise SystemExit(status)
