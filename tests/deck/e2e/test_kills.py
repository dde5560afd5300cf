"""kill -9 of a real server at random moments: what a device was told stays told, and goes on."""

import os
import random
import select
import signal

import pytest

from tests.deck.e2e.client import Client, text_of
from tests.helpers.raw_websocket import END
from tests.helpers.server import Server
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e]

PROMPTS = ("stream 30 2", "write", "calls 12 3", "choose", "stream 8 10")


class Life:
    """One device through many lives of the server's worker."""

    def __init__(self, server: Server, device: Client, seed: int) -> None:
        self.server = server
        self.device = device
        self.chance = random.Random(seed)
        self.sent = 0

    def prompt(self) -> None:
        self.sent += 1
        self.device.send(self.chance.choice(PROMPTS), f"m{self.sent}")

    def talk_and_be_killed(self, number: int) -> None:
        """Two or three prompts, some answers, and SIGKILL after a random number of events."""
        device = self.device.come()
        for _ in range(self.chance.randrange(2, 4)):
            self.prompt()
        for _ in range(self.chance.randrange(1, 90)):
            if not self.hear(answers=self.chance.random() < 0.7):
                break
        (worker,) = self.server.workers()
        os.kill(worker, signal.SIGKILL)
        self.hear_out()
        device.leave()
        self.server.ready(number + 2)

    def hear(self, *, answers: bool) -> bool:
        """The next event; False when there is none for a while: a person is waited for."""
        socket = self.device.socket
        if not socket._reader.buffer and not select.select([socket.connection], [], [], 0.4)[0]:
            return False
        message = self.device.receive()
        payload = message["payload"]
        if message["type"] == "permission.requested" and answers:
            self.device.say(
                "permission.respond", request_id=payload["request_id"], answer="allow_once"
            )
        elif message["type"] == "choice.requested" and answers:
            self.device.say("choice.respond", request_id=payload["request_id"], option="tea")
        return True

    def hear_out(self) -> None:
        try:
            while self.device.socket.receive() is not END:
                pass
        except (EOFError, ConnectionError):
            pass

    def finish(self) -> None:
        """The next prompt works, and everything that was accepted has ended."""
        device = self.device.come()
        device.send("the last", "last")
        while not self._is_over():
            self.hear(answers=True)
        last = device.of("prompt.accepted")[-1]["turn_id"]
        ours = [each for each in device.events if each["payload"].get("turn_id") == last]
        assert text_of(ours) == "the last"

    def _is_over(self) -> bool:
        device = self.device
        ended = {each["turn_id"] for each in device.of("prompt.cancelled")}
        metrics = device.of("metric.updated")
        ended |= {each["turn_id"] for each in metrics if each["name"] == "tokens_out"}
        accepted = {each["turn_id"]: each["text"] for each in device.of("prompt.accepted")}
        return "the last" in accepted.values() and ended >= set(accepted)

    def check(self) -> None:
        """The client has seen to sequences without gaps; here: every thing begun was ended."""
        device = self.device
        started = [each["turn_id"] for each in device.of("turn.started")]
        assert len(set(started)) == len(started), "a turn began twice"
        ended = [each["turn_id"] for each in device.of("turn.completed") + device.of("turn.failed")]
        assert sorted(ended) == sorted(started)
        for opened, closed, key in (
            ("tool_call.started", "tool_call.finished", "call_id"),
            ("permission.requested", "permission.resolved", "request_id"),
            ("choice.requested", "choice.resolved", "request_id"),
        ):
            begun = sorted(each[key] for each in device.of(opened))
            assert begun == sorted(each[key] for each in device.of(closed)), opened
        reasons = {each["reason"] for each in device.of("turn.failed")}
        assert reasons <= {"interrupted"}


def kill_again_and_again(make_server, kills: int, seed: int) -> Life:
    server = make_server(permission_timeout_ms=700)
    with Client(server) as device:
        life = Life(server, device, seed)
        for number in range(kills):
            life.talk_and_be_killed(number)
        life.finish()
        life.check()
        with Client(server, device.session_id, "another").come() as another:
            while another.last_sequence < device.last_sequence:
                another.receive()
            assert another.events == device.events, "what was told is what is stored"
        eventually(lambda: server.get("/readyz").status_code == 200)
    return life


@pytest.mark.timeout(180)
def test_ten_kills_of_a_real_server_lose_nothing_that_was_told(make_server):
    life = kill_again_and_again(make_server, 10, 7)
    assert life.device.of("turn.failed"), "at least one turn was interrupted"


@pytest.mark.stress
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2])
def test_fifty_kills_and_fifty_more_lose_nothing_that_was_told(make_server, seed):
    kill_again_and_again(make_server, 50, seed)
