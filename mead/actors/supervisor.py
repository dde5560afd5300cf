"""Supervisors: start children in order, restart them by strategy, give up past a limit.  OTP.

A supervisor has no greenlet of its own: it is idle almost always, and 10 KiB for each of ten
thousand conversations would be half their price.  When a child ends, a greenlet is spawned that
handles the ends that are waiting and then ends itself; a lock keeps it apart from `start` and
`stop`.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gevent import Greenlet
from gevent.lock import RLock

from mead.actors.exits import NORMAL, Child, Exit, Lifetime

log = logging.getLogger(__name__)

Strategy = Literal["one_for_one", "rest_for_one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """How a supervisor starts and ends one child.  Names as OTP's child_spec."""

    id: str
    start: Callable[[], Child]
    restart: Literal["permanent", "transient", "temporary"] = "permanent"
    """After which ends to start it again: every one, all but `normal`, none."""
    shutdown_ms: int = 5000


class GaveUp(Exception):
    """A supervisor's children died faster than it may restart them."""


class RestartWindow:
    """Counts restarts in a sliding window: OTP's max_restarts in max_seconds."""

    __slots__ = ("_max_restarts", "_max_seconds", "_times")

    def __init__(self, max_restarts: int, max_seconds: float) -> None:
        self._max_restarts = max_restarts
        self._max_seconds = max_seconds
        self._times: deque[float] | None = None

    def allows(self, now: float) -> bool:
        """Count a restart at `now` (seconds); False when it is one too many."""
        times = self._times
        if times is None:
            times = self._times = deque()
        while times and now - times[0] > self._max_seconds:
            times.popleft()
        times.append(now)
        return len(times) <= self._max_restarts


class Supervisor(Lifetime):
    """A fixed list of children.  Itself a child, so that supervisors nest."""

    __slots__ = (
        "_children",
        "_ends",
        "_handling",
        "_lock",
        "_specs",
        "_stopping",
        "_strategy",
        "_window",
        "name",
    )

    def __init__(
        self,
        name: str,
        specs: Sequence[ChildSpec],
        *,
        strategy: Strategy,
        max_restarts: int,
        max_seconds: float,
    ) -> None:
        super().__init__()
        self.name = name
        self._specs = tuple(specs)
        self._strategy: Strategy = strategy
        self._window = RestartWindow(max_restarts, max_seconds)
        self._children: dict[str, Child] = {}
        self._ends: deque[tuple[str, Child, Exit]] = deque()
        self._handling = False
        self._lock = RLock()
        self._stopping = False

    def child(self, id_: str) -> Child | None:
        """The child started under that id, or None while there is none."""
        return self._children.get(id_)

    def start(self) -> "Supervisor":
        """Start the children in order; if one fails, end the others and raise its error."""
        with self._lock:
            try:
                for spec in self._specs:
                    self._start_child(spec)
            except BaseException:
                self._stop_children(self._specs)
                raise
        return self

    def stop(self, timeout_ms: float | None = None) -> None:
        """End the children in reverse order, each within its `shutdown_ms`.  Idempotent."""
        del timeout_ms  # the children's own bounds add up to the bound
        self._stopping = True
        with self._lock:
            self._stop_children(self._specs)
        self._finish(NORMAL)

    def _start_child(self, spec: ChildSpec) -> None:
        child = spec.start()
        self._children[spec.id] = child
        child.on_end(lambda exit_: self._child_ended(spec.id, child, exit_))

    def _child_ended(self, id_: str, child: Child, exit_: Exit) -> None:
        """May run in the hub."""
        self._ends.append((id_, child, exit_))
        if not self._handling and not self._stopping:
            self._handling = True
            Greenlet.spawn(self._handle_ends)

    def _handle_ends(self) -> None:
        try:
            with self._lock:
                while self._ends and not self._stopping:
                    self._handle_end(*self._ends.popleft())
        finally:
            self._handling = False

    def _handle_end(self, id_: str, child: Child, exit_: Exit) -> None:
        if self._children.get(id_) is not child:
            return  # ended by this supervisor itself, and perhaps replaced
        index = next(i for i, spec in enumerate(self._specs) if spec.id == id_)
        spec = self._specs[index]
        del self._children[id_]
        if spec.restart == "temporary" or (spec.restart == "transient" and exit_.kind == "normal"):
            return
        self._restart(index, exit_)

    def _restart(self, index: int, exit_: Exit) -> None:
        id_ = self._specs[index].id
        last = index + 1 if self._strategy == "one_for_one" else len(self._specs)
        affected = self._specs[index:last]
        while self._window.allows(time.monotonic()):
            log.warning("%s: %s ended (%s) and is restarted", self.name, id_, exit_.cause)
            self._stop_children(affected)
            try:
                for spec in affected:
                    self._start_child(spec)
            except Exception as error:  # noqa: BLE001 - a failed start counts as one more restart
                exit_ = Exit("crashed", error)
                continue
            return
        log.error("%s: %s ended (%s) once too often; it gives up", self.name, id_, exit_.cause)
        self._stopping = True
        self._stop_children(self._specs)
        self._finish(Exit("crashed", GaveUp(self.name)))

    def _stop_children(self, specs: Sequence[ChildSpec]) -> None:
        for spec in reversed(specs):
            child = self._children.pop(spec.id, None)
            if child is not None:
                child.stop(spec.shutdown_ms)
