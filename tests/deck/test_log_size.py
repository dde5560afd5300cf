"""A log's bytes have a bound, whatever a device sends, and nothing that was accepted is lost."""

import pytest
from gevent.event import Event

from mead.deck.memory_log import MemoryEventLog
from mead.errors import Busy
from mead.ids import new_uuid
from tests.deck.conftest import opened

MIB = 1_048_576
LONG = "🍵" + "x" * 59_999


class Flooded:
    """A conversation whose first turn runs until it is let go, and a device that floods it."""

    def __init__(self, make_mead, devices, directory) -> None:
        self.go = Event()
        self.asked: list[str] = []
        self.directory = directory
        self.mead, self.session_id = opened(make_mead(self._answer, directory, event_log_bytes=MIB))
        self.device = devices.at(self.mead, self.session_id).come()

    def _answer(self, request) -> str:
        self.asked.append(request.prompt)
        assert self.go.wait(10)
        return "x"

    @property
    def size(self) -> int:
        """The bytes of the log: of its file, or of the memory it takes."""
        log = self.mead.deck()._channels._channels[self.session_id]._recorder.log
        if isinstance(log, MemoryEventLog):
            return log.size
        return (self.directory / f"{self.session_id}.events").stat().st_size

    def flood(self, most: int = 100) -> int:
        """Send long prompts and take them back, until one is refused; how many were taken."""
        for number in range(most):
            message_id = new_uuid()
            self.device.send(LONG, message_id)
            heard = self.device.hear("prompt.accepted", "prompt.rejected")
            if heard["type"] == "prompt.rejected":
                assert heard["payload"]["reason"] == "queue_full"
                return number
            self.device.say("prompt.cancel", client_message_id=message_id)
            self.device.hear("prompt.cancelled")
        return most


@pytest.fixture(params=["memory", "file"])
def flooded(request, make_mead, devices, tmp_path) -> Flooded:
    return Flooded(make_mead, devices, tmp_path if request.param == "file" else None)


def test_prompts_that_are_taken_back_while_a_turn_runs_fill_a_log_to_its_limit_only(flooded):
    flooded.device.send("runs", "m1")
    flooded.device.hear("turn.started")
    taken = flooded.flood()
    assert 15 <= taken <= 18
    assert flooded.size <= MIB + 2 * len(LONG)
    assert flooded.flood() == 0


def test_what_was_accepted_before_the_log_was_full_runs_and_the_next_prompt_makes_room(flooded):
    device = flooded.device
    device.send("runs", "m1")
    device.send("waits", "m2")
    flooded.flood()
    device.send("waits", "m2")
    again = device.hear("prompt.accepted", "prompt.rejected")
    assert again["payload"] == device.of("prompt.accepted")[1]
    flooded.go.set()
    device.hear_end()
    device.hear_end()
    assert flooded.asked == ["runs", "waits"]
    assert device.ask("again", "m3") == "x"
    assert flooded.size < MIB
    assert flooded.asked == ["runs", "waits", "again"]


def test_what_is_older_than_the_running_turn_goes_before_a_prompt_is_refused(flooded):
    flooded.go.set()
    for number in range(16):
        flooded.device.ask(LONG, f"old{number}")
    flooded.go.clear()
    flooded.device.send("runs", "m1")
    flooded.device.hear("turn.started")
    assert flooded.flood() >= 15


def test_a_full_log_takes_a_stricter_level_and_no_looser_one(flooded):
    device = flooded.device
    device.send("runs", "m1")
    flooded.flood()
    last = device.last_sequence
    for level in ("allow_all", "ask_for_all", "read_only", "ask_for_all", "ask_for_risky"):
        device.say("policy.set", level=level)
    heard = [device.hear("policy.updated", "frame.rejected") for _ in range(5)]
    refused = [each["payload"] for each in heard if each["type"] == "frame.rejected"]
    assert refused == [{"reason": "log_full", "type": "policy.set"}] * 3
    assert [each["level"] for each in device.of("policy.updated")] == ["ask_for_all", "read_only"]
    assert device.last_sequence == last + 2


def test_a_full_log_keeps_a_title_without_an_event(flooded):
    flooded.device.send("runs", "m1")
    flooded.flood()
    last = flooded.device.last_sequence
    flooded.mead.deck().set_title(flooded.session_id, "Tea")
    flooded.device.leave()
    snapshot = flooded.device.come().snapshot
    assert snapshot["title"] == "Tea"
    assert snapshot["last_sequence"] == last


def test_another_door_to_a_full_log_is_busy(flooded):
    flooded.device.send("runs", "m1")
    flooded.device.hear("turn.started")
    flooded.flood()
    with pytest.raises(Busy):
        flooded.mead.submit_turn(flooded.session_id, "from elsewhere")


def test_policies_that_change_without_end_fill_a_log_to_its_limit_only(make_mead, devices):
    flooded = Flooded(make_mead, devices, None)
    device = flooded.device
    levels = ("read_only", "allow_all")
    for number in range(10_000):
        device.say("policy.set", level=levels[number % 2])
        if device.hear("policy.updated", "frame.rejected")["type"] == "frame.rejected":
            break
    assert 2000 < number < 9_999
    assert flooded.size <= MIB + 1000
    flooded.go.set()
    assert device.ask("hi") == "x"
    assert flooded.size < 20_000
