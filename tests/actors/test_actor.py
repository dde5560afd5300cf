"""The actor: its mailbox, its answers, and every way it can end."""

from typing import Any

import gevent
import pytest
from gevent.event import Event

from mead.actors.actor import NO_REPLY, Actor, Reply
from mead.actors.exits import ActorDied, CallTimeout, Exit, MailboxFull
from mead.errors import Busy
from tests.helpers.waiting import eventually


class Probe(Actor):
    """Does what its messages say, and notes what it did."""

    name = "probe"

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.stopped: list[Exit] = []
        self.kept: Reply | None = None
        self.gate = Event()

    def handle_call(self, message: Any, reply: Reply) -> Any:
        self.seen.append(message)
        match message:
            case "later":
                self.kept = reply
                return NO_REPLY
            case "busy":
                raise Busy
            case "block":
                self.gate.wait(5)
            case "exit":
                raise SystemExit(3)
            case "crash":
                raise ValueError("a text that nobody may see")
            case _:
                pass
        return message

    def handle_cast(self, message: Any) -> None:
        self.seen.append(message)
        if message == "answer" and self.kept is not None:
            self.answer(self.kept, "at last")
        if message == "crash":
            raise ValueError("a text that nobody may see")

    def on_stop(self, exit_: Exit) -> None:
        self.stopped.append(exit_)


@pytest.fixture
def probe() -> Any:
    actor = Probe()
    ref = actor.start()
    yield actor
    actor.gate.set()
    ref.stop()


def test_messages_are_handled_one_at_a_time_in_order(probe: Probe) -> None:
    for number in range(50):
        probe.ref.cast(number)
    assert probe.ref.call("end") == "end"
    assert probe.seen == [*range(50), "end"]


def test_a_mead_error_is_the_callers_answer_and_the_actor_goes_on(probe: Probe) -> None:
    with pytest.raises(Busy):
        probe.ref.call("busy")
    assert probe.ref.call("still here") == "still here"


def test_a_deferred_answer_reaches_its_caller(probe: Probe) -> None:
    caller = gevent.spawn(probe.ref.call, "later")
    assert eventually(lambda: probe.kept is not None)
    probe.ref.cast("answer")
    assert caller.get(timeout=5) == "at last"


def test_a_call_that_is_not_answered_in_time_says_so(probe: Probe) -> None:
    with pytest.raises(CallTimeout):
        probe.ref.call("block", timeout_ms=10)


@pytest.mark.parametrize("message", ["crash", "exit"])
def test_a_crash_ends_the_actor_and_answers_the_caller(probe: Probe, message: str) -> None:
    with pytest.raises(ActorDied) as died:
        probe.ref.call(message)
    assert died.value.exit.kind == "crashed"
    assert "nobody may see" not in str(died.value)
    assert not probe.ref.alive


def test_a_crash_answers_everyone_who_waits(probe: Probe) -> None:
    deferred = gevent.spawn(probe.ref.call, "later")
    assert eventually(lambda: probe.kept is not None)
    probe.ref.cast("crash")
    queued = gevent.spawn(probe.ref.call, "never read")
    for caller in (deferred, queued):
        with pytest.raises(ActorDied):
            caller.get(timeout=5)


def test_a_killed_actor_cleans_up_once_and_tells_its_watchers(probe: Probe) -> None:
    ends: list[Exit] = []
    probe.ref.on_end(ends.append)
    probe.ref.call("hello")
    probe.ref.kill()
    assert eventually(lambda: ends)
    assert [exit_.kind for exit_ in ends] == ["killed"]
    assert [exit_.kind for exit_ in probe.stopped] == ["killed"]
    late: list[Exit] = []
    probe.ref.on_end(late.append)
    assert late == ends


def test_an_actor_killed_before_its_first_step_still_cleans_up() -> None:
    actor = Probe()
    ref = actor.start()
    ends: list[Exit] = []
    ref.on_end(ends.append)
    ref.kill()
    assert eventually(lambda: ends)
    assert [exit_.kind for exit_ in actor.stopped] == ["killed"]
    with pytest.raises(ActorDied):
        ref.call("anyone?")


def test_a_stop_comes_after_what_was_sent_before(probe: Probe) -> None:
    probe.ref.cast("first")
    probe.ref.stop()
    assert probe.seen == ["first"]
    assert probe.stopped[0].kind == "normal"
    probe.ref.cast("to nobody")
    with pytest.raises(ActorDied):
        probe.ref.call("to nobody")


def test_a_stop_that_is_not_heard_ends_in_a_kill(probe: Probe) -> None:
    gevent.spawn(probe.ref.call, "block", None).link(lambda _: None)
    assert eventually(lambda: probe.seen)
    probe.ref.stop(timeout_ms=10)
    assert not probe.ref.alive
    assert probe.stopped[0].kind == "killed"


def test_a_linked_task_is_killed_with_the_actor(probe: Probe) -> None:
    class Link:
        killed = False

        def kill(self) -> None:
            self.killed = True

    kept, dropped = Link(), Link()
    probe.link(kept)
    probe.link(dropped)
    probe.unlink(dropped)
    probe.ref.kill()
    assert eventually(lambda: kept.killed)
    assert not dropped.killed


def test_a_full_mailbox_refuses() -> None:
    class Small(Probe):
        mailbox_limit = 3

    actor = Small()
    ref = actor.start()
    for number in range(3):
        ref.cast(number)
    with pytest.raises(MailboxFull):
        ref.cast("one too many")
    ref.stop()
    assert actor.seen == [0, 1, 2]


def test_a_failed_start_is_the_starters_error() -> None:
    class Broken(Actor):
        def on_start(self) -> None:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Broken().start()
