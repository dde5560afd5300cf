"""Several people and doors at one conversation of a real server."""

import gevent
import pytest

from mead.control.client import ControlClient
from tests.helpers.server import MCP_TOKEN

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


def test_of_two_answers_at_once_one_wins_and_both_see_who(server, arrive):
    phone, desk = arrive(server), None
    desk = arrive(server, phone.session_id, "desk")
    phone.send("write")
    requests = {
        device.hear("permission.requested")["payload"]["request_id"] for device in (phone, desk)
    }
    (request_id,) = requests
    phone.say("permission.respond", request_id=request_id, answer="allow_once")
    desk.say("permission.respond", request_id=request_id, answer="reject_once")
    heard = [device.hear("permission.resolved") for device in (phone, desk)]
    assert heard[0] == heard[1]
    winner = heard[0]["payload"]["decided_by_device"]
    outcome = {"phone": ("allow_once", "wrote"), "desk": ("reject_once", "did not write")}[winner]
    phone.hear_end()
    assert heard[0]["payload"]["outcome"] == outcome[0]
    assert phone.of("text.delta")[0]["text"] == outcome[1]
    assert desk.hear_end() == phone.events


def test_a_permission_outlives_a_reload(server, arrive):
    device = arrive(server)
    device.send("write")
    device.hear("permission.requested")
    device.leave()
    device.come()
    (pending,) = device.snapshot["pending"]
    device.say("permission.respond", request_id=pending["request_id"], answer="allow_once")
    device.hear_end()
    assert device.of("text.delta")[0]["text"] == "wrote"


def test_a_question_is_answered_and_the_turn_goes_on(server, arrive):
    device = arrive(server)
    device.send("choose")
    asked = device.hear("choice.requested")["payload"]
    device.say("choice.respond", request_id=asked["request_id"], option="soup")
    assert device.hear("frame.rejected")["payload"]["reason"] == "unknown_option"
    device.say("choice.respond", request_id=asked["request_id"], option="coffee")
    device.hear_end()
    assert device.of("text.delta")[0]["text"] == "coffee"


def test_nobody_answers_and_the_turn_goes_on(make_server, arrive):
    server = make_server(permission_timeout_ms=100)
    device = arrive(server)
    assert device.ask("write") == "did not write"
    assert device.of("permission.resolved")[0]["outcome"] == "expired"


@pytest.mark.parametrize("door", ["cli", "mcp"])
def test_a_turn_of_another_door_is_shown_and_its_permission_asked_here(server, arrive, door):
    device = arrive(server)
    submit = {"cli": _through_control, "mcp": _through_mcp}[door]
    turn = gevent.spawn(submit, server, device.session_id)
    request_id = device.hear("permission.requested")["payload"]["request_id"]
    device.say("permission.respond", request_id=request_id, answer="allow_once")
    assert turn.get(timeout=10) == "wrote"
    device.hear_end()
    (accepted,) = device.of("prompt.accepted")
    assert (accepted["text"], accepted["origin"]) == ("write", door)


def _through_control(server, session_id: str) -> str:
    control = ControlClient(server.directory / "store")
    return control.submit(session_id, "write").output


def _through_mcp(server, session_id: str) -> str:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "submit_turn",
            "arguments": {"session_id": session_id, "input": "write"},
        },
    }
    answer = server.request(
        "POST", "/mcp", json=call, headers={"Authorization": f"Bearer {MCP_TOKEN}"}
    )
    return answer.json()["result"]["structuredContent"]["output"]
