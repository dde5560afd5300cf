"""What the master's hooks do on their own; tests/web/test_process.py has them in real masters."""

import os
import queue
import signal
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from gunicorn.errors import HaltServer

from mead.config import Settings
from mead.web.lifecycle import EndMark
from mead.web.master import LEAVE, Master
from mead.web.served import served


@dataclass
class Arbiter:
    """As much of gunicorn's as the hooks touch."""

    SIG_QUEUE: "queue.SimpleQueue[int]" = field(default_factory=queue.SimpleQueue)
    LISTENERS: list[object] = field(default_factory=lambda: ["one"])


@pytest.fixture
def master(tmp_path):
    return Master(Settings(), tmp_path)


@pytest.fixture
def own_signals():
    """The test process keeps its handlers and its context."""
    handlers = {number: signal.getsignal(number) for number in LEAVE}
    token = served.set(None)
    yield
    served.reset(token)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def ended(status: int) -> SimpleNamespace:
    mark = EndMark()
    if status:
        mark.set(status)
    return SimpleNamespace(end_mark=mark)


@pytest.mark.usefixtures("own_signals")
def test_a_new_worker_has_the_settings_and_none_of_the_masters_handlers(master):
    master.post_fork(Arbiter(), None)
    assert served.get() == Settings()
    assert [signal.getsignal(number) for number in LEAVE] == [signal.SIG_DFL] * 3


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize("number", LEAVE)
def test_an_order_to_leave_that_came_with_the_fork_is_obeyed(master, number):
    arbiter = Arbiter()
    arbiter.SIG_QUEUE.put(signal.SIGCHLD)
    arbiter.SIG_QUEUE.put(number)
    with pytest.raises(SystemExit) as left:
        master.post_fork(arbiter, None)
    assert left.value.code == 0


def test_three_ends_of_the_tree_stop_the_master(master):
    for _ in range(2):
        master.child_exit(Arbiter(), ended(os.EX_SOFTWARE))
    with pytest.raises(HaltServer) as halt:
        master.child_exit(Arbiter(), ended(os.EX_SOFTWARE))
    assert halt.value.exit_status == os.EX_SOFTWARE


@pytest.mark.parametrize("status", [os.EX_CONFIG, os.EX_TEMPFAIL, os.EX_IOERR])
def test_a_worker_that_could_not_start_stops_the_master_at_once(master, status):
    with pytest.raises(HaltServer) as halt:
        master.child_exit(Arbiter(), ended(status))
    assert halt.value.exit_status == status


def test_a_worker_that_was_told_to_leave_or_was_killed_is_no_reason(master):
    for _ in range(5):
        master.child_exit(Arbiter(), ended(0))


def test_a_master_that_is_stopping_stops_in_its_own_way(master):
    master.child_exit(Arbiter(LISTENERS=[]), ended(os.EX_CONFIG))
