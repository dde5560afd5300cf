"""A model asks a person to choose."""

ASKING = [{"tool_calls": [{"name": "ask_user", "arguments": {
    "prompt": "Which?", "options": ["red", "blue"]}}]}, {"text": "done"}]  # fmt: skip


def test_the_model_asks_and_reads_what_was_chosen(at):
    device = at(lambda request: ASKING[0] if not request.rounds else
                f"you chose {request.rounds[0].answers[0].text}")  # fmt: skip
    device.send("go")
    question = device.hear("choice.requested")["payload"]
    assert (question["prompt"], question["options"]) == ("Which?", ["red", "blue"])
    device.say("choice.respond", request_id=question["request_id"], option="green")
    assert device.hear("frame.rejected")["payload"]["reason"] == "unknown_option"
    device.say("choice.respond", request_id=question["request_id"], option="blue")
    assert device.hear("choice.resolved")["payload"] == {
        "request_id": question["request_id"],
        "option": "blue",
        "decided_by_device": "device-1",
    }
    device.hear_end()
    assert device.of("text.delta")[0]["text"] == "you chose blue"
    device.say("choice.respond", request_id=question["request_id"], option="red")
    assert device.hear("choice.resolved")["payload"]["option"] == "blue"


def test_a_question_that_nobody_answers_resolves_without_an_option(at):
    device = at(ASKING, permission_timeout_ms=50)
    assert device.ask("go") == "done"
    assert device.of("choice.resolved")[0]["option"] is None
    types = device.types()
    assert types.index("choice.resolved") < types.index("text.delta")


def test_a_permission_is_not_a_choice(at):
    device = at(ASKING)
    device.send("go")
    request = device.hear("choice.requested")["payload"]["request_id"]
    device.say("permission.respond", request_id=request, answer="allow_once")
    assert device.hear("frame.rejected")["payload"]["reason"] == "unknown_id"
