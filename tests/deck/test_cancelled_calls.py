"""Turns and tool calls that are cancelled while they wait for a person, or run."""

from gevent.event import Event

from tests.deck.asking import READ, WRITE, calling, resolved
from tests.deck.device import text_of


def test_a_cancelled_turn_expires_what_waits_then_closes_its_cards(at):
    device = at(calling(WRITE))
    device.send("go")
    turn_id = device.hear("permission.requested")["payload"]["turn_id"]
    device.say("turn.cancel", turn_id=turn_id)
    device.hear_end()
    types = device.types()
    ends = ["permission.resolved", "tool_call.finished", "turn.failed"]
    assert [type_ for type_ in types if type_ in ends] == ends
    assert device.of("permission.resolved")[0]["outcome"] == "expired"
    assert device.of("tool_call.finished")[0]["status"] == "failed"


def test_a_cancelled_call_expires_its_permission_and_the_turn_goes_on(at, tools):
    device = at(calling(WRITE))
    device.send("go")
    call_id = device.hear("permission.requested")["payload"]["call_id"]
    device.say("tool_call.cancel", call_id=call_id)
    assert resolved(device) == {"outcome": "expired"}
    assert "tool_call.finished" not in device.types()
    device.hear_end()
    assert device.of("tool_call.finished")[0]["status"] == "cancelled"
    assert device.of("turn.completed")
    assert not tools.calls


def test_a_running_call_is_cancelled_and_the_model_reads_that(at, tools):
    running, never = Event(), Event()

    def run(**_):
        running.set()
        never.wait()

    tools.add("notes__slow", "read", run)
    script = calling({"name": "notes__slow", "arguments": {}})
    device = at(script)
    device.send("go")
    call_id = device.hear("tool_call.started")["payload"]["call_id"]
    assert running.wait(5)
    device.say("tool_call.cancel", call_id=call_id)
    device.hear_end()
    assert device.of("tool_call.finished")[0]["status"] == "cancelled"
    assert device.of("turn.completed")


def test_a_call_that_is_closed_cannot_be_cancelled(at):
    device = at(calling(READ, rounds=1)[:1] + calling(WRITE))
    device.send("go")
    call_id = device.hear("tool_call.finished")["payload"]["call_id"]
    device.hear("permission.requested")
    device.say("tool_call.cancel", call_id=call_id)
    assert device.hear("frame.rejected")["payload"]["reason"] == "already_finished"


def test_text_before_a_call_is_shown_before_it(at):
    chunks = ["let ", "me ", "see"]  # the later ones come within the joining window
    device = at([{"chunks": chunks, "delay_ms": 2, "tool_calls": [READ]}, {"text": "done"}])
    assert device.ask("go") == "let me see\n\ndone"
    types = device.types()
    assert text_of(device.events[: types.index("tool_call.started")]) == "let me see"
    assert types.index("tool_call.finished") < len(types) - 1 - types[::-1].index("text.delta")
