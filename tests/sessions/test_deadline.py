"""The clock of a turn, against real timers: what stands in the order, not how long it takes."""

from collections.abc import Iterator

import pytest

from mead.actors.actor import Actor, ActorRef
from mead.actors.timer import Timer
from mead.sessions.deadline import Deadline
from tests.helpers.waiting import eventually

EXPIRED = "expired"


class Ear(Actor):
    """Keeps what it is told."""

    name = "ear"

    def __init__(self) -> None:
        self.heard: list[str] = []

    def handle_cast(self, message: str) -> None:
        self.heard.append(message)

    def wait(self, ref: ActorRef, ms: float) -> list[str]:
        """What was heard before a timer of so long, however late it is looked at."""
        name = f"timer {len(self.heard)}"
        Timer(ref, ms, name)
        eventually(lambda: name in self.heard)
        return self.heard[: self.heard.index(name)]


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def ref(ear) -> Iterator[ActorRef]:
    ref = ear.start()
    yield ref
    ref.stop()


def test_a_clock_that_was_paused_twice_stands_still_until_both_pauses_are_over(ear, ref):
    deadline = Deadline(ref, 50, EXPIRED)
    with deadline.paused():
        with deadline.paused():
            pass
        assert EXPIRED not in ear.wait(ref, 100)
        assert deadline.is_paused
    eventually(lambda: EXPIRED in ear.heard)


def test_the_time_of_a_pause_is_not_counted_however_often_it_is_paused_again(ear, ref):
    deadline = Deadline(ref, 600, EXPIRED)
    with deadline.paused():
        ear.wait(ref, 400)
        with deadline.paused():
            pass
    assert EXPIRED not in ear.wait(ref, 350)
    deadline.cancel()


def test_a_cancelled_clock_never_fires_even_if_a_pause_ends_after_it(ear, ref):
    deadline = Deadline(ref, 20, EXPIRED)
    with deadline.paused():
        deadline.cancel()
    assert EXPIRED not in ear.wait(ref, 50)
