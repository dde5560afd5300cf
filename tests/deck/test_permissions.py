"""What may run: by policy, by rule, by a person; and what becomes of a question nobody answers."""

import pytest

from mead.deck.requests import rule_on
from mead.turn import iso_ms, utc_now
from tests.deck.asking import READ, WRITE, calling, resolved
from tests.deck.conftest import opened
from tests.helpers.waiting import eventually

# -- the levels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "kind", "remembered", "verdict", "by"),
    [
        ("ask_for_all", "read", True, "ask", None),
        ("ask_for_all", "effect", True, "ask", None),
        ("ask_for_risky", "read", False, "allow", "policy"),
        ("ask_for_risky", "read", True, "allow", "policy"),
        ("ask_for_risky", "effect", False, "ask", None),
        ("ask_for_risky", "effect", True, "allow", "rule"),
        ("allow_all", "read", False, "allow", "policy"),
        ("allow_all", "effect", False, "allow", "policy"),
        ("allow_all", "effect", True, "allow", "policy"),
        ("read_only", "read", False, "allow", "policy"),
        ("read_only", "effect", False, "reject", "policy"),
        ("read_only", "effect", True, "reject", "policy"),
    ],
)
def test_the_level_decides_before_the_rules_and_the_rules_before_a_person(
    level, kind, remembered, verdict, by
):
    ruling = rule_on(level, kind, "notes__write", is_remembered=remembered)
    assert ruling.verdict == verdict
    assert (ruling.by_policy is not None, ruling.by_rule is not None) == (
        by == "policy",
        by == "rule",
    )


def test_a_read_call_is_shown_allowed_by_policy_and_closed(at):
    device = at(calling(READ))
    assert device.ask("go") == "done"
    types = [t for t in device.types() if t.startswith(("tool_call", "permission"))]
    assert types == [
        "tool_call.started",
        "permission.requested",
        "permission.resolved",
        "tool_call.finished",
    ]
    started, requested = device.of("tool_call.started")[0], device.of("permission.requested")[0]
    assert (started["server"], started["tool"], started["class"]) == ("notes", "read", "read")
    assert started["arguments"] == requested["details"] == {"id": 7}
    assert (requested["tool"], requested["risk"]) == ("notes__read", "low")
    assert requested["call_id"] == started["call_id"]
    assert device.of("permission.resolved")[0]["decided_by_policy"] == "ask_for_risky"
    finished = device.of("tool_call.finished")[0]
    assert (finished["status"], finished["summary"]) == ("ok", "done")


@pytest.mark.parametrize(
    ("answer", "ran", "status"),
    [("allow_once", True, "ok"), ("allow_always", True, "ok"), ("reject_once", False, "denied")],
)
def test_a_person_decides_about_an_effect(at, tools, answer, ran, status):
    device = at(calling(WRITE))
    device.send("go")
    requested = device.hear("permission.requested")["payload"]
    assert requested["risk"] == "high"
    device.say("permission.respond", request_id=requested["request_id"], answer=answer)
    payload = resolved(device)
    assert payload["outcome"] == answer
    assert payload["decided_by_device"] == "device-1"
    assert payload.get("remember") == ("notes__write" if answer == "allow_always" else None)
    device.hear_end()
    assert device.of("tool_call.finished")[0]["status"] == status
    assert bool(tools.calls) is ran


def test_a_remembered_tool_is_allowed_by_rule_until_it_is_forgotten(at):
    device = at(calling(WRITE))
    device.send("go")
    request = device.hear("permission.requested")["payload"]["request_id"]
    device.say("permission.respond", request_id=request, answer="allow_always")
    resolved(device)
    device.hear_end()
    device.send("again", "m2")
    assert resolved(device) == {"outcome": "allow_once", "decided_by_rule": "notes__write"}
    device.hear_end()
    device.say("permission.forget", tool="notes__write")
    assert device.hear("permission.forgotten")["payload"] == {
        "tool": "notes__write",
        "device_id": "device-1",
    }
    device.say("permission.forget", tool="notes__write")
    assert device.hear("frame.rejected")["payload"]["reason"] == "unknown_tool"
    device.send("more", "m3")
    device.hear("permission.requested")


def test_a_level_that_a_device_sets_holds_for_the_next_call(at):
    device = at(calling(WRITE))
    device.say("policy.set", level="read_only")
    assert device.hear("policy.updated")["payload"] == {
        "level": "read_only",
        "device_id": "device-1",
    }
    device.ask("go")
    assert device.of("permission.resolved")[0]["outcome"] == "reject_once"
    assert device.of("permission.resolved")[0]["decided_by_policy"] == "read_only"
    assert device.of("tool_call.finished")[0]["status"] == "denied"
    device.say("policy.set", level="allow_all")
    device.ask("go", "m2")
    assert device.of("permission.resolved")[1]["decided_by_policy"] == "allow_all"


def test_read_only_refuses_at_once_the_effect_that_waits_for_an_answer(at, tools):
    device = at(calling(WRITE))
    device.send("go")
    request_id = device.hear("permission.requested")["payload"]["request_id"]
    device.say("policy.set", level="read_only")
    refused = device.hear("permission.resolved")
    assert refused["payload"] == {
        "request_id": request_id,
        "outcome": "reject_once",
        "decided_by_policy": "read_only",
    }
    assert device.types()[-2:] == ["policy.updated", "permission.resolved"]
    device.hear_end()
    device.say("permission.respond", request_id=request_id, answer="allow_always")
    assert device.hear("permission.resolved", "frame.rejected") == refused
    assert device.of("tool_call.finished")[0]["status"] == "denied"
    assert not tools.calls


def test_allow_always_decides_nothing_else_where_only_reading_is_allowed(at):
    device = at(calling(READ, READ), default_policy_level="ask_for_all")
    device.send("go")
    first, second = (device.hear("permission.requested")["payload"] for _ in range(2))
    device.say("policy.set", level="read_only")
    device.say("permission.respond", request_id=first["request_id"], answer="allow_always")
    device.hear("permission.resolved")
    device.say("permission.respond", request_id=second["request_id"], answer="reject_once")
    device.hear_end()
    assert device.of("permission.resolved")[1]["outcome"] == "reject_once"


def test_a_level_that_is_set_again_is_not_logged_again(at):
    device = at(calling(READ))
    for level in ("allow_all", "allow_all", "ask_for_risky"):
        device.say("policy.set", level=level)
    device.ask("go")
    assert [each["level"] for each in device.of("policy.updated")] == ["allow_all", "ask_for_risky"]


def test_the_default_level_is_the_configured_one(at):
    device = at(calling(WRITE), default_policy_level="allow_all")
    assert device.snapshot["policy_level"] == "allow_all"
    assert device.ask("go") == "done"


def test_allow_always_resolves_the_other_requests_of_that_tool(at):
    read_again = {**READ, "arguments": {"id": 8}}
    device = at(calling(READ, read_again), default_policy_level="ask_for_all")
    device.send("go")
    first = device.hear("permission.requested")["payload"]
    second = device.hear("permission.requested")["payload"]
    device.say("permission.respond", request_id=first["request_id"], answer="allow_always")
    assert device.hear("permission.resolved")["payload"]["request_id"] == first["request_id"]
    # Where everything is asked, the rule decides nothing, not even this.
    device.say("permission.respond", request_id=second["request_id"], answer="allow_once")
    device.hear_end()


def test_allow_always_resolves_the_others_by_rule(at):
    device = at(calling(READ, {**READ, "arguments": {"id": 8}}), default_policy_level="ask_for_all")
    device.send("go")
    first = device.hear("permission.requested")["payload"]
    second = device.hear("permission.requested")["payload"]
    device.say("policy.set", level="ask_for_risky")
    device.say("permission.respond", request_id=first["request_id"], answer="allow_always")
    device.hear("permission.resolved")
    other = device.hear("permission.resolved")["payload"]
    assert other == {
        "request_id": second["request_id"],
        "outcome": "allow_once",
        "decided_by_rule": "notes__read",
    }
    device.hear_end()
    assert [each["status"] for each in device.of("tool_call.finished")] == ["ok", "ok"]


# -- several devices, and none ---------------------------------------------------------------------


def test_of_two_devices_one_wins_and_both_see_who(make_mead, devices, tools):
    mead, session_id = opened(make_mead(calling(WRITE)))
    phone = devices.at(mead, session_id, "phone").come()
    laptop = devices.at(mead, session_id, "laptop").come()
    phone.send("go")
    request = phone.hear("permission.requested")["payload"]["request_id"]
    laptop.hear("permission.requested")
    laptop.say("permission.respond", request_id=request, answer="reject_once")
    phone.say("permission.respond", request_id=request, answer="allow_once")
    seen = [each.hear("permission.resolved")["payload"] for each in (phone, laptop)]
    assert seen[0] == seen[1]
    assert seen[0]["decided_by_device"] in ("phone", "laptop")
    late = phone if seen[0]["decided_by_device"] == "laptop" else laptop
    again = late.hear("permission.resolved")  # told again, to the late one alone
    assert again["payload"] == seen[0]
    assert [len(each.of("permission.resolved")) for each in (phone, laptop)] == [1, 1]


def test_a_request_can_be_answered_by_a_device_that_came_later(make_mead, devices):
    mead, session_id = opened(make_mead(calling(WRITE)))
    first = devices.at(mead, session_id).come()
    first.send("go")
    first.hear("permission.requested")
    first.leave()
    second = devices.at(mead, session_id).come()
    (pending,) = second.snapshot["pending"]
    assert pending["tool"] == "notes__write"
    second.say("permission.respond", request_id=pending["request_id"], answer="allow_once")
    second.hear_end()
    assert second.of("permission.resolved")[0]["decided_by_device"] == "device-2"


def test_a_request_that_nobody_answers_expires_and_the_turn_goes_on(at):
    device = at(calling(WRITE), permission_timeout_ms=50)
    assert device.ask("go") == "done"
    assert device.of("permission.resolved")[0]["outcome"] == "expired"
    assert device.of("tool_call.finished")[0]["status"] == "denied"
    types = device.types()
    assert types.index("permission.resolved") < types.index("tool_call.finished")


def test_the_turns_clock_stands_still_while_a_person_is_asked(at):
    device = at(calling(WRITE), permission_timeout_ms=300, runtime={"turn_timeout_ms": 150})
    assert device.ask("go") == "done"
    assert device.of("turn.completed")


def test_a_request_is_extended_ten_times_and_not_more(at):
    device = at(calling(WRITE), permission_timeout_ms=60_000)
    device.send("go")
    before = device.hear("permission.requested")
    requested = before["payload"]
    for _ in range(10):
        eventually(lambda at=before["at"]: iso_ms(utc_now()) > at)
        device.say("request.extend", request_id=requested["request_id"])
        extended = device.hear("request.extended")
        assert extended["payload"]["expires_at"] > before["payload"]["expires_at"]
        assert extended["payload"]["device_id"] == "device-1"
        before = extended
    device.say("request.extend", request_id=requested["request_id"])
    assert device.hear("frame.rejected")["payload"]["reason"] == "extended_too_often"


def test_an_extension_gives_the_time_it_says(at):
    device = at(calling(WRITE), permission_timeout_ms=400)
    device.send("go")
    request = device.hear("permission.requested")["payload"]["request_id"]
    for _ in range(3):
        device.say("request.extend", request_id=request)
        device.hear("request.extended")
    device.say("permission.respond", request_id=request, answer="allow_once")
    assert resolved(device)["outcome"] == "allow_once"


def test_an_extended_request_expires_in_the_end(at):
    device = at(calling(WRITE), permission_timeout_ms=100)
    device.send("go")
    request = device.hear("permission.requested")["payload"]["request_id"]
    device.say("request.extend", request_id=request)
    device.hear("request.extended")
    assert resolved(device) == {"outcome": "expired"}
    assert "tool_call.finished" not in device.types()
    device.hear_end()
    assert device.of("tool_call.finished")[0]["status"] == "denied"


def test_an_answer_to_what_was_never_asked_is_rejected(at):
    device = at(calling(WRITE))
    for type_, fields in [
        ("permission.respond", {"answer": "allow_once"}),
        ("choice.respond", {"option": "x"}),
        ("request.extend", {}),
    ]:
        device.say(type_, request_id="11111111-1111-4111-8111-111111111111", **fields)
        assert device.hear("frame.rejected")["payload"]["reason"] == "unknown_id"
