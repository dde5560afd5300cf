"""Frames that mean nothing, come too late, or come without end."""

import gevent
import pytest

from mead.deck.event_log import Limits
from mead.deck.feed import Feed
from mead.deck.fold import apply
from mead.deck.memory_log import MemoryEventLog
from mead.deck.memory_socket import MemorySocket
from mead.deck.messages import Attach
from mead.deck.socket import DeckSocket
from mead.deck.state import DeckState
from tests.deck.conftest import opened
from tests.deck.story import Story, numbered

UUID = "11111111-1111-4111-8111-111111111111"


def test_a_frame_that_means_nothing_is_rejected_on_that_socket_alone(make_mead, devices):
    mead, session_id = opened(make_mead())
    one, two = devices.at(mead, session_id).come(), devices.at(mead, session_id).come()
    one.socket.say_raw(b"\x00")
    one.socket.say_raw("{")
    one.say("no.such")
    one.say("turn.cancel", turn_id="x")
    told = [one.hear("frame.rejected")["payload"] for _ in range(4)]
    assert told == [
        {"reason": "binary"},
        {"reason": "not_json"},
        {"reason": "unknown_type", "type": "no.such"},
        {"reason": "invalid_payload", "type": "turn.cancel", "id": "x"},
    ]
    one.ask("hi")
    two.hear_end()
    assert "frame.rejected" not in two.types()


def test_more_than_twenty_meaningless_frames_in_a_minute_close_the_socket(arrive):
    device = arrive()
    device.resume()
    for _ in range(20):
        device.socket.say_raw("{")
        device.hear("frame.rejected")
    assert device.socket.closed is None
    device.socket.say_raw("{")
    assert device.gone()[0] == 1008


def test_what_was_longer_than_the_window_ago_does_not_count(arrive, monkeypatch):
    monkeypatch.setattr("mead.deck.socket.FAULT_WINDOW_S", 0)
    device = arrive()
    device.resume()
    for _ in range(50):
        device.socket.say_raw("{")
        device.hear("frame.rejected")
    assert device.socket.closed is None


def test_a_prompt_in_an_oversize_frame_counts_and_one_that_is_refused_does_not(arrive):
    device = arrive()
    device.resume()
    for _ in range(25):
        device.send(" ")
        assert device.hear("prompt.rejected")["payload"]["reason"] == "empty"
    for _ in range(21):
        device.send("x" * 70_000)
    assert device.gone()[0] == 1008


def test_the_frames_before_resume_count_too(arrive):
    device = arrive()
    for _ in range(21):
        device.socket.say_raw("{")
    assert device.gone()[0] == 1008


def test_frames_that_only_come_too_late_do_not_count(arrive):
    device = arrive()
    device.resume()
    for _ in range(50):
        device.say("turn.cancel", turn_id=UUID)
        device.hear("frame.rejected")
    assert device.socket.closed is None


def test_what_one_socket_is_refused_again_is_told_the_log_once(arrive, caplog):
    caplog.set_level("DEBUG", "mead.deck.socket")
    device = arrive()
    device.resume()
    for _ in range(5):
        device.say("turn.cancel", turn_id=UUID)
        device.hear("frame.rejected")
        device.send(" ")
        device.hear("prompt.rejected")
    told = [(r.levelname, r.getMessage().split(": ")[-1]) for r in caplog.records]
    assert told[:2] == [("INFO", "unknown_id"), ("INFO", "empty")]
    assert set(told[2:]) == {("DEBUG", "unknown_id"), ("DEBUG", "empty")}


class LateChannel:
    """Names an event that the log lets go before the socket can read it again."""

    def __init__(self) -> None:
        self._log, self._state = MemoryEventLog(Limits(10, 1_048_576)), DeckState()
        for event in numbered(Story(1).events(20)):
            self._log.append([event], sync=False)
            apply(self._state, event)
            self._log.compact(self._state)

    def channel_for(self, session_id):
        return self

    def call(self, message, timeout_ms):
        if isinstance(message, Attach):
            return Feed(message.socket, "phone", self._log, self._state, self._state.last_sequence)
        return (1,)

    def cast(self, message):
        pass


@pytest.mark.parametrize(
    ("type_", "fields"),
    [
        ("prompt.send", {"client_message_id": "m1", "text": "hi"}),
        ("permission.respond", {"request_id": UUID, "answer": "allow_once"}),
    ],
)
def test_an_event_that_is_let_go_while_it_is_asked_for_is_rejected_by_name(
    make_mead, type_, fields
):
    socket = MemorySocket()
    socket.say("session.resume", last_sequence=0)
    socket.say(type_, **fields)
    served = gevent.spawn(DeckSocket(socket, UUID, LateChannel(), make_mead().deck()._around).run)
    rejected = socket.hear("frame.rejected")["payload"]
    id_ = next(iter(fields.values()))
    assert rejected == {"reason": "already_finished", "type": type_, "id": id_}
    socket.hang_up()
    assert served.join(5) is None


def test_a_device_that_floods_waits_for_its_answers(arrive):
    device = arrive()
    device.resume()
    for number in range(3000):
        device.say("policy.set", level="read_only" if number % 2 else "allow_all")
    device.hear_all(3000)
    assert device.types() == ["policy.updated"] * 3000
