"""A device's turn, from the prompt to its metrics; the queue; cancelling."""

import gevent
import pytest
from gevent.event import Event

from mead.deck.fold import KNOWN_PROMPTS
from mead.errors import MAXIMUM_OUTPUT_BYTES, SessionNotFound
from mead.ids import new_turn_id
from mead.protocols import ModelRequest, ToolUse
from tests.deck.conftest import opened
from tests.deck.device import text_of
from tests.helpers.waiting import eventually


class Gate:
    """A script whose answers wait until they are let through."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._open = Event()

    def __call__(self, request: ModelRequest) -> dict:
        self.asked.append(request.prompt)
        self._open.wait(5)
        return {"text": f"answer to {request.prompt}"}

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


def test_a_turn_is_told_from_its_prompt_to_its_metrics(device):
    device.ask("hi", route="local")
    assert (
        device.types()
        == [
            "prompt.accepted",
            "turn.started",
            "turn.routed",
            "text.delta",
            "text.delta",
            "turn.completed",
            "metric.updated",
            "metric.updated",
        ]
        or device.types().count("text.delta") == 1
    )
    assert [event["sequence"] for event in device.events] == list(range(1, len(device.events) + 1))
    accepted = device.of("prompt.accepted")[0]
    assert accepted["text"] == "hi"
    assert accepted["route"] == "local"
    assert accepted["origin"] == "deck"
    assert accepted["device_id"] == "device-1"
    assert device.of("turn.routed")[0]["route_source"] == "forced"
    assert device.of("turn.completed")[0]["stop_reason"] == "end_turn"
    assert [(m["name"], m["value"]) for m in device.of("metric.updated")] == [
        ("tokens_in", 3),
        ("tokens_out", 4),
    ]


def test_the_text_is_that_of_the_stored_turn_and_so_is_its_id(device):
    text = device.ask("hi")
    turn = device.mead.history(device.session_id)[0]
    assert turn.output == text == "Hello"
    assert turn.id == device.of("turn.started")[0]["turn_id"]


def test_a_provider_that_cannot_stream_is_one_delta(make_mead, devices):
    device = devices.at(*opened(make_mead(runtime={"turn_handler": "echo"}))).come()
    assert device.ask("say it") == "say it"
    assert device.types().count("text.delta") == 1


def test_a_handler_that_shows_nothing_has_its_answer_shown_at_the_end(make_mead, devices):
    class Quiet:
        def handle_turn(self, history, text, context):
            return "x" * 40_000

    mead = make_mead()
    session_id = mead.start_session(handler=Quiet())
    device = devices.at(mead, session_id).come()
    assert device.ask("hi") == "x" * 40_000
    assert [len(delta["text"]) for delta in device.of("text.delta")] == [32_768, 7_232]


def test_text_that_comes_quickly_is_joined(make_mead, devices):
    script = [{"chunks": ["a"] * 500}]
    device = devices.at(*opened(make_mead(script))).come()
    assert device.ask("hi") == "a" * 500
    assert device.types().count("text.delta") < 10


def test_a_failed_turn_says_why_and_ends_with_metrics(make_mead, devices):
    script = [{"text": "so far", "error": "overloaded"}]
    device = devices.at(*opened(make_mead(script))).come()
    device.ask("hi")
    assert device.of("turn.failed")[0]["reason"] == "overloaded"
    assert device.types()[-2:] == ["metric.updated", "metric.updated"]
    assert text_of(device.events) == "so far"


def test_a_turn_for_an_empty_slot_fails(device):
    device.ask("hi", route="cloud")
    assert device.of("turn.failed")[0]["reason"] == "cloud_unavailable"
    assert device.ask("hi", "m2") == "Hello"


def test_a_turn_that_takes_too_long_fails_as_timeout(make_mead, devices):
    script = [{"text": "late", "delay_ms": 60_000}]
    device = devices.at(*opened(make_mead(script, runtime={"turn_timeout_ms": 30}))).come()
    device.ask("hi")
    assert device.of("turn.failed")[0]["reason"] == "timeout"


HALF = "half of a pair: \ud83d"


class Garbage:
    """A handler that shows what cannot be sent, in the way that its prompt names."""

    def handle_turn(self, history, text, context):
        act = getattr(self, text, None)
        return text if act is None else act(context) or text

    def half_a_character(self, context):
        context.text_delta(HALF)

    def no_text(self, context):
        context.text_delta(7)

    def a_question(self, context):
        with context.clock.paused():
            context.interaction.choose("Which?", ("tea", HALF))

    def a_summary(self, context):
        context.interaction.call_finished(new_turn_id(), "ok", 7)

    def arguments(self, context):
        use = ToolUse(
            call_id=new_turn_id(), server="a", tool="b", name="a__b", kind="read", arguments=7
        )
        context.interaction.authorize(use, lambda: None)


@pytest.mark.parametrize(
    "way", [name for name in vars(Garbage) if not name.startswith(("_", "handle"))]
)
def test_what_cannot_be_sent_fails_its_turn_and_not_the_conversations_deck(make_mead, devices, way):
    mead = make_mead()
    device = devices.at(mead, mead.start_session(handler=Garbage())).come()
    device.ask(way, "m1")
    assert device.of("turn.failed")[0]["reason"] == "handler_crashed"
    assert device.ask("and on", "m2") == "and on"
    assert device.socket.closed is None


class Endless:
    """Shows text without end, unless it is told so."""

    def handle_turn(self, history, text, context):
        while text == "go":
            context.text_delta("x" * 30_000)
            gevent.sleep(0)
        return text


def test_text_without_end_fails_its_turn_and_does_not_fill_the_log(make_mead, devices):
    mead = make_mead()
    device = devices.at(mead, mead.start_session(handler=Endless())).come()
    device.send("go", "m1")
    device.hear("turn.started")
    device.leave()
    eventually(lambda: mead.history(device.session_id)[0].finished_at)
    text = text_of(device.come().hear_end())
    assert device.of("turn.failed")[0]["reason"] == "bad_output"
    assert MAXIMUM_OUTPUT_BYTES - 30_000 <= len(text) <= MAXIMUM_OUTPUT_BYTES
    assert device.ask("and on", "m2") == "and on"


# -- the queue -------------------------------------------------------------------------------------


def test_prompts_run_in_their_order_and_the_eleventh_waiting_is_refused(make_mead, devices, gate):
    device = devices.at(*opened(make_mead(gate))).come()
    for number in range(12):
        device.send(f"p{number}", f"m{number}")
    refused = device.hear("prompt.rejected")
    assert refused["payload"] == {"client_message_id": "m11", "reason": "queue_full"}
    assert "sequence" not in refused
    gate.open()
    for _ in range(11):
        device.hear_end()
    assert gate.asked == [f"p{number}" for number in range(11)]
    device.send("again", "m11")  # a refused prompt was not taken: its id is free
    device.hear_end()
    assert gate.asked[-1] == "again"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": "  "}, "empty"),
        ({"text": "x" * 60_001}, "too_long"),
        ({"text": "hi", "route": "moon"}, "invalid_route"),
    ],
)
def test_a_prompt_that_cannot_be_taken_is_refused(device, fields, reason):
    device.say("prompt.send", client_message_id="m1", **fields)
    assert device.hear("prompt.rejected")["payload"]["reason"] == reason
    assert device.ask("hi") == "Hello"


def test_a_resend_gets_the_same_events_and_runs_nothing(device):
    device.ask("hi")
    device.send("hi")
    first, second = device.hear(), device.hear()
    assert first == device.events[0]
    assert second["type"] == "turn.completed"
    assert second in device.events
    assert len(device.mead.history(device.session_id)) == 1


def test_a_resend_of_a_running_prompt_gets_its_acceptance(make_mead, devices, gate):
    device = devices.at(*opened(make_mead(gate))).come()
    device.send("hi")
    device.hear("turn.started")
    device.send("hi")
    assert device.hear("prompt.accepted")["sequence"] == 1
    gate.open()
    device.hear_end()
    assert gate.asked == ["hi"]


def test_a_resend_is_told_to_that_device_alone(make_mead, devices):
    mead, session_id = opened(make_mead())
    one, two = devices.at(mead, session_id).come(), devices.at(mead, session_id).come()
    one.ask("hi")
    two.hear_end()
    one.send("hi")
    one.hear("turn.completed")
    one.send("next", "m2")
    assert two.hear()["payload"]["client_message_id"] == "m2"


def test_a_waiting_prompt_is_cancelled_by_its_message_or_its_turn(make_mead, devices, gate):
    device = devices.at(*opened(make_mead(gate))).come()
    for number in range(3):
        device.send(f"p{number}", f"m{number}")
    turns = [device.hear("prompt.accepted")["payload"]["turn_id"] for _ in range(3)]
    device.say("prompt.cancel", client_message_id="m1")
    device.say("turn.cancel", turn_id=turns[2])
    cancelled = [device.hear("prompt.cancelled")["payload"] for _ in range(2)]
    assert cancelled == [
        {"client_message_id": "m1", "turn_id": turns[1], "reason": "by_person"},
        {"client_message_id": "m2", "turn_id": turns[2], "reason": "by_person"},
    ]
    gate.open()
    device.hear_end()
    assert gate.asked == ["p0"]
    assert len(device.mead.history(device.session_id)) == 1


def test_a_resend_and_a_second_cancel_of_a_cancelled_prompt_get_its_events(
    make_mead, devices, gate
):
    device = devices.at(*opened(make_mead(gate))).come()
    device.send("p0", "m0")
    device.send("p1", "m1")
    device.say("prompt.cancel", client_message_id="m1")
    device.hear("prompt.accepted")
    told = [device.hear("prompt.accepted")]
    told.append(device.hear("prompt.cancelled"))
    device.hear("turn.routed")
    device.send("p1", "m1")
    assert [device.hear(), device.hear()] == told
    device.say("prompt.cancel", client_message_id="m1")
    assert [device.hear(), device.hear()] == told
    gate.open()


# -- cancelling a turn -----------------------------------------------------------------------------


def test_a_running_turn_is_cancelled_and_the_next_runs(make_mead, devices):
    script = [{"chunks": ["once ", "upon ", "a time"], "delay_ms": 40}]
    device = devices.at(*opened(make_mead(script))).come()
    device.send("tell", "m1")
    device.send("again", "m2")
    device.hear("text.delta")
    device.say("turn.cancel", turn_id=device.of("turn.started")[0]["turn_id"])
    device.hear_end()
    failed = device.of("turn.failed")[0]
    assert failed["reason"] == "cancelled"
    assert device.hear_end()
    assert device.mead.history(device.session_id)[0].status == "cancelled"
    assert text_of(device.events).endswith("once upon a time")


def test_a_turn_can_be_cancelled_the_moment_it_is_told_to_start(make_mead, devices, gate):
    device = devices.at(*opened(make_mead(gate))).come()
    for number in range(20):
        device.send("hi", f"m{number}")
        turn_id = device.hear("turn.started")["payload"]["turn_id"]
        device.say("turn.cancel", turn_id=turn_id)
        device.say("turn.cancel", turn_id=turn_id)
        device.hear_end()
        assert device.of("turn.failed")[-1] == {
            "turn_id": turn_id,
            "reason": "cancelled",
            "message": "the turn was cancelled",
        }


def test_what_cannot_be_cancelled_is_said_to_be_so(device):
    device.ask("hi")
    turn_id = device.of("turn.started")[0]["turn_id"]
    for type_, fields, reason in [
        ("turn.cancel", {"turn_id": turn_id}, "already_finished"),
        ("turn.cancel", {"turn_id": new_turn_id()}, "unknown_id"),
        ("prompt.cancel", {"client_message_id": "m1"}, "already_finished"),
        ("prompt.cancel", {"client_message_id": "never"}, "unknown_id"),
        ("tool_call.cancel", {"call_id": turn_id}, "unknown_id"),
    ]:
        device.say(type_, **fields)
        (id_,) = fields.values()
        payload = device.hear("frame.rejected")["payload"]
        assert payload == {"reason": reason, "type": type_, "id": id_}


def test_a_prompt_that_has_started_is_not_cancelled_as_a_prompt(make_mead, devices, gate):
    device = devices.at(*opened(make_mead(gate))).come()
    device.send("hi")
    device.say("prompt.cancel", client_message_id="m1")
    assert device.hear("frame.rejected")["payload"]["reason"] == "already_started"
    gate.open()


def test_a_conversation_that_is_not_there_has_no_deck(make_mead):
    mead = make_mead()
    with pytest.raises(SessionNotFound):
        mead.deck().issue_ticket("11111111-1111-4111-8111-111111111111")


def test_a_thousand_later_prompts_do_not_make_the_running_one_and_its_queue_unknown(
    make_mead, devices
):
    go = Event()
    mead = make_mead(lambda request: "x" if go.wait(60) else "", event_log_limit=1000)
    device = devices.at(*opened(mead)).come()
    device.send("runs", "m1")
    device.send("waits", "m2")
    for number in range(KNOWN_PROMPTS + 1):
        device.send("x", f"q{number}")
        device.say("prompt.cancel", client_message_id=f"q{number}")
        device.hear("prompt.cancelled")
    first = device.of("prompt.accepted")[0]
    device.send("runs", "m1")
    assert device.hear("prompt.accepted", "prompt.rejected")["payload"] == first
    device.say("prompt.cancel", client_message_id="m2")
    assert device.hear("prompt.cancelled", "frame.rejected")["type"] == "prompt.cancelled"
    go.set()
    device.hear_end()
    assert len(device.of("turn.started")) == 1
