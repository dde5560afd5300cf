"""Tasks: whatever they do, the end is an outcome."""

from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent import GreenletExit, Timeout
from gevent.event import Event

from mead.actors.exits import Exit, Outcome
from mead.actors.tasks import TaskSupervisor, wait_all
from tests.helpers.waiting import eventually


@pytest.fixture
def tasks() -> Any:
    supervisor = TaskSupervisor("test")
    yield supervisor
    supervisor.stop()


def _raise(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


def test_a_result_is_an_outcome(tasks: TaskSupervisor) -> None:
    ends: list[Outcome[int]] = []
    task = tasks.start(lambda: 7, on_end=ends.append)
    assert task.wait(5000) == Outcome(7)
    assert eventually(lambda: ends == [Outcome(7)])


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        SystemExit(1),
        KeyboardInterrupt(),
        GreenletExit(),
        Timeout(1),
        BaseException(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_anything_raised_is_an_outcome(tasks: TaskSupervisor, error: BaseException) -> None:
    outcome = tasks.start(_raise(error)).wait(5000)
    assert outcome is not None
    assert outcome.error is error
    assert not outcome.ok


def test_a_killed_task_has_ended_as_killed(tasks: TaskSupervisor) -> None:
    started, forever = Event(), Event()

    def function() -> None:
        started.set()
        forever.wait(60)

    task = tasks.start(function)
    assert started.wait(5)
    assert not task.done
    task.kill()
    outcome = task.wait(5000)
    assert outcome is not None
    assert isinstance(outcome.error, GreenletExit)


def test_a_task_killed_before_its_first_step_has_ended_as_killed(tasks: TaskSupervisor) -> None:
    ends: list[Outcome[int]] = []
    task = tasks.start(lambda: 7, on_end=ends.append)
    task.kill()
    assert eventually(lambda: ends)
    assert isinstance(ends[0].error, GreenletExit)
    assert task.outcome == ends[0]


def test_waiting_is_bounded(tasks: TaskSupervisor) -> None:
    task = tasks.start(lambda: gevent.sleep(60))
    assert task.wait(1) is None
    wait_all([task], 1)
    assert not task.done


def test_a_stop_ends_what_is_left() -> None:
    supervisor = TaskSupervisor("test")
    ends: list[Exit] = []
    supervisor.on_end(ends.append)
    running = [supervisor.start(lambda: gevent.sleep(60)) for _ in range(5)]
    gevent.sleep(0)
    assert len(supervisor) == 5
    supervisor.stop()
    assert all(task.done for task in running)
    assert len(supervisor) == 0
    assert [exit_.kind for exit_ in ends] == ["normal"]
    assert not supervisor.alive
