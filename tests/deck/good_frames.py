"""A client frame of every type, and what is read in it."""

import orjson

from mead.deck import frames
from mead.ids import new_uuid

UUID = new_uuid()


def frame(type_: str, **payload: object) -> str:
    return orjson.dumps({"type": type_, "payload": payload}).decode()


GOOD = [
    (
        frame("session.resume", last_sequence=0),
        frames.Resume(last_sequence=0, log_id=None, device_id=None),
    ),
    (
        frame("session.resume", last_sequence=7, log_id=UUID, device_id="a-B_9"),
        frames.Resume(last_sequence=7, log_id=UUID, device_id="a-B_9"),
    ),
    (
        frame("prompt.send", client_message_id="m", text=" hi ", route="cloud"),
        frames.SendPrompt(client_message_id="m", text=" hi ", route="cloud"),
    ),
    (
        frame("prompt.send", client_message_id="m", text="hi", route=None),
        frames.SendPrompt(client_message_id="m", text="hi", route=None),
    ),
    (frame("prompt.cancel", client_message_id="m"), frames.CancelPrompt(client_message_id="m")),
    (frame("turn.cancel", turn_id=UUID), frames.CancelTurn(turn_id=UUID)),
    (frame("tool_call.cancel", call_id=UUID), frames.CancelToolCall(call_id=UUID)),
    (
        frame("permission.respond", request_id=UUID, answer="allow_always"),
        frames.RespondPermission(request_id=UUID, answer="allow_always"),
    ),
    (frame("request.extend", request_id=UUID), frames.ExtendRequest(request_id=UUID)),
    (frame("permission.forget", tool="notes__add"), frames.ForgetPermission(tool="notes__add")),
    (
        frame("choice.respond", request_id=UUID, option="yes"),
        frames.RespondChoice(request_id=UUID, option="yes"),
    ),
    (frame("policy.set", level="read_only"), frames.SetPolicy(level="read_only")),
]
