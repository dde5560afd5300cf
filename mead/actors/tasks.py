"""Tasks: greenlets that do one thing and end.  OTP's Task.Supervisor.

The only way to run something beside an actor.  Whatever a task does (return, raise, SystemExit,
be killed), the end is an Outcome, never a traceback and never the end of another greenlet.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from gevent import Greenlet, GreenletExit, joinall

from mead.actors.exits import NORMAL, Lifetime, Outcome

if TYPE_CHECKING:
    from mead.actors.actor import AnyGreenlet

Value = TypeVar("Value")


class TaskKilled(Exception):
    """The task was ended before it had a result."""


class Task(Generic[Value]):
    """A running or ended task."""

    __slots__ = ("_among", "_function", "_on_end", "greenlet", "name", "outcome")

    def __init__(
        self,
        function: Callable[[], Value],
        name: str,
        on_end: Callable[[Outcome[Value]], Any] | None,
        among: "set[Task[Any]]",
    ) -> None:
        """`among` is the set of running tasks that it leaves at its end."""
        self.name = name
        self.outcome: Outcome[Value] | None = None
        """How it ended; None while it runs.  A killed task has `Killed` as its error."""
        self._function = function
        self._on_end = on_end
        self._among = among
        self.greenlet: AnyGreenlet = Greenlet(self._run)
        """For the TaskSupervisor alone."""

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.outcome is not None

    def wait(self, timeout_ms: float | None = None) -> Outcome[Value] | None:
        """Its outcome, or None when it still runs after `timeout_ms`.  Never raises its error."""
        self.greenlet.join(None if timeout_ms is None else timeout_ms / 1000)
        return self.outcome

    def result(self) -> Value:
        """What it returned, once it has; raises what it raised, or TaskKilled."""
        outcome = self.wait()
        if outcome is None or isinstance(outcome.error, GreenletExit):
            # Never GreenletExit itself: that would end the one who waits.
            raise TaskKilled(self.name)
        if outcome.error is not None:
            raise outcome.error
        return cast("Value", outcome.value)

    def kill(self) -> None:
        """End it at its next wait.  Blocks on: nothing."""
        self.greenlet.kill(block=False)

    def _run(self) -> None:
        try:
            self.outcome = Outcome(self._function())
        except BaseException as error:  # noqa: BLE001 - SystemExit, too, ends this task alone
            self.outcome = Outcome(error=error)

    def ended(self, _: "AnyGreenlet") -> None:
        """Runs in the hub: the callback may cast and count, and must not block."""
        self._among.discard(self)
        if self.outcome is None:  # killed before its first step
            self.outcome = Outcome(error=GreenletExit())
        if self._on_end is not None:
            self._on_end(self.outcome)


class TaskSupervisor(Lifetime):
    """Starts tasks and ends those that are left when it stops."""

    def __init__(self, name: str = "tasks") -> None:
        super().__init__()
        self.name = name
        self._tasks: set[Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self,
        function: Callable[[], Value],
        *,
        name: str = "task",
        on_end: Callable[[Outcome[Value]], Any] | None = None,
    ) -> Task[Value]:
        """Run `function` in a greenlet of its own.

        `on_end(outcome)` is called once in the hub and must not block.  Whoever starts a task and
        may end before it must kill it (`Actor.link`, or `finally: task.kill()`).
        """
        task = Task(function, name, on_end, self._tasks)
        self._tasks.add(task)
        task.greenlet.rawlink(task.ended)
        task.greenlet.start()
        return task

    def stop(self, timeout_ms: float = 5000) -> None:
        """Kill every task that is left and wait for them, at most `timeout_ms`."""
        kill_all(self._tasks, timeout_ms)
        self._finish(NORMAL)


def wait_all(tasks: Iterable[Task[Any]], timeout_ms: float | None = None) -> None:
    """Wait until every task has ended, or `timeout_ms` are over."""
    joinall([task.greenlet for task in tasks], None if timeout_ms is None else timeout_ms / 1000)


def kill_all(tasks: Iterable[Task[Any]], timeout_ms: float) -> None:
    """Kill every task and wait for them, at most `timeout_ms`; a task may refuse to end."""
    tasks = list(tasks)
    for task in tasks:
        task.kill()
    wait_all(tasks, timeout_ms)
