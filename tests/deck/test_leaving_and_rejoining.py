"""A device may leave and come back at any event: it ends with exactly what one saw that stayed."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mead.actors.tasks import TaskSupervisor
from mead.api import Mead
from mead.config.settings import DeckSettings
from mead.deck.events import Event
from mead.deck.fold import apply
from mead.deck.snapshot import standing
from mead.deck.state import DeckState
from tests.deck.conftest import Tools, opened, router
from tests.deck.device import Device, everyone, text_of

SCRIPT: list[Any] = [
    {"chunks": ["let ", "me ", "look"], "delay_ms": 1, "tool_calls": [
        {"name": "notes__read", "arguments": {"id": 1}},
        {"name": "notes__read", "arguments": {"id": 2}}]},
    {"chunks": list("an answer in many small pieces é 🍵"), "delay_ms": 0.5},
]  # fmt: skip
DEVICES = 3
QUEUE = DeckSettings().queue_limit

steps = st.one_of(
    st.tuples(st.just("prompt"), st.integers(0, DEVICES - 1)),
    st.tuples(st.just("policy"), st.integers(0, DEVICES - 1)),
    st.tuples(st.just("hear"), st.integers(0, DEVICES - 1), st.integers(1, 30)),
    st.tuples(st.just("drop"), st.integers(0, DEVICES - 1)),
)


class Play:
    """What three restless devices and one steady device go through."""

    def __init__(self, devices: list[Device], steady: Device) -> None:
        self.devices = devices
        self.steady = steady
        self.prompts = 0
        self._present: set[int] = set()
        self._levels = ["allow_all", "ask_for_risky"]

    def take(self, step: tuple) -> None:
        kind, number, *more = step
        device = self.devices[number]
        if kind == "drop":
            if number in self._present:
                device.leave()
                self._present.discard(number)
            return
        if number not in self._present:
            device.come()
            self._present.add(number)
        if kind == "prompt":
            while self.prompts - self.ended >= QUEUE:  # one more could be refused
                self.steady.hear()
            self.prompts += 1
            device.send(f"prompt {self.prompts}", f"m{self.prompts}")
            self.steady.hear("prompt.accepted")
        elif kind == "policy":
            self._levels.reverse()  # the same again would change nothing
            device.say("policy.set", level=self._levels[0])
            self.steady.hear("policy.updated")
        else:
            for _ in range(more[0]):
                if device.last_sequence >= self.steady.last_sequence:
                    break
                device.hear()

    def finish(self) -> None:
        while not self.is_over():
            self.steady.hear()
        for number, device in enumerate(self.devices):
            if number not in self._present:
                device.come()
            device.hear_all(self.steady.last_sequence)

    def is_over(self) -> bool:
        return self.ended == self.prompts

    @property
    def ended(self) -> int:
        """How many turns have ended, as far as the steady device has heard."""
        return sum(m["name"] == "tokens_out" for m in self.steady.of("metric.updated"))


@pytest.mark.spec("deck.rejoin")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
@given(script=st.lists(steps, min_size=3, max_size=25))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_device_ends_with_the_sequence_of_one_that_never_left(
    tmp_path_factory, stored, script
):
    rejoin(tmp_path_factory.mktemp("deck") if stored else None, script)


@pytest.mark.stress
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
@given(script=st.lists(steps, min_size=3, max_size=60))
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_device_ends_with_that_sequence_after_much_more(tmp_path_factory, stored, script):
    rejoin(tmp_path_factory.mktemp("deck") if stored else None, script)


def rejoin(directory, script) -> None:
    tools, tasks = Tools(), TaskSupervisor()
    tools.add("notes__read", "read")
    conf: dict[str, Any] = {"runtime": {"turn_handler": "router", "default_route": "local"}}
    if directory is not None:
        conf["storage"] = {"directory": str(directory), "fsync": "never"}
    handlers = {"router": router(SCRIPT, tools, tasks)}
    with Mead(conf, handlers=handlers) as mead, everyone() as devices:
        _, session_id = opened(mead)
        steady = devices.at(mead, session_id, "steady").come()
        restless = [devices.at(mead, session_id, f"d{number}") for number in range(DEVICES)]
        play = Play(restless, steady)
        for step in script:
            play.take(step)
        play.finish()
        check(play, mead, session_id)
    tasks.stop()


def check(play: Play, mead: Mead, session_id: str) -> None:
    events = play.steady.events
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    for device in play.devices:
        assert device.events == events
        assert not device.repeated
    outputs = [turn.output for turn in mead.history(session_id)]
    assert text_of(events) == "".join(outputs)
    assert len(outputs) == play.prompts
    # What a device makes of the events is what the server says the state is.
    state = DeckState()
    for event in events:
        apply(state, Event.decode(event))
    latest = Device(mead, session_id).come(last_sequence=len(events))
    told = {name: latest.snapshot[name] for name in standing(state, "ask_for_risky")}
    latest.leave()
    assert told == standing(state, "ask_for_risky")
