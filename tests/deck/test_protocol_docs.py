"""docs/deck-protocol.md and the schemas say what is said."""

import re
from typing import Any, get_args

import orjson
import pytest
from jsonschema import Draft202012Validator

from mead.deck import closing, frames, protocol
from mead.deck.events import EventType
from mead.deck.frames import FaultReason, FrameFault, PromptFault, PromptFaultReason
from mead.deck.protocol import FRAME_BYTES, TEXT_CHARACTERS, parse
from mead.errors import SessionStopped
from tests.deck import example
from tests.deck.conftest import opened
from tests.deck.good_frames import GOOD, frame
from tests.deck.schemas import alone, messages, schema, types_of

PAGE = example.PAGE.read_text()
UNSEQUENCED = ("session.snapshot", "heartbeat", "frame.rejected", "prompt.rejected")


@pytest.mark.parametrize("name", ["client", "server"])
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(schema(name))


def test_every_type_has_its_schema_and_no_other_has():
    assert types_of("client") == list(protocol.CLIENT_FRAMES)
    assert types_of("server") == [*UNSEQUENCED, *types_in_order()]
    assert set(types_in_order()) == set(get_args(EventType))


def types_in_order() -> list[str]:
    return [name for name in types_of("server") if name not in UNSEQUENCED]


def test_every_event_that_was_recorded_is_what_its_schema_says():
    for message in messages():
        alone("server", message["type"]).validate(message)
        Draft202012Validator(schema("server")).validate(message)


def test_what_is_said_to_one_device_is_what_its_schema_says(make_mead, devices):
    write = {"tool_calls": [{"name": "notes__write", "arguments": {}}]}
    mead, session_id = opened(make_mead([write, {"text": "x"}], heartbeat_ms=20))
    device = devices.at(mead, session_id).come()
    device.send("", "m1")
    told = [device.hear("prompt.rejected")]
    device.say("no.such")
    told.append(device.hear("frame.rejected"))
    told.append(device.hear("heartbeat"))
    device.send("hi", "m2")
    device.send("wait", "m3")
    device.hear("permission.requested")
    other = devices.at(mead, session_id).connect()
    other.say("session.resume", last_sequence=0)
    told.append(other.socket.hear())
    assert told[-1]["payload"]["pending"]
    assert told[-1]["payload"]["turn"]["open_calls"]
    for message in told:
        alone("server", message["type"]).validate(message)
    assert [message["type"] for message in told] == list(reversed(UNSEQUENCED))


@pytest.mark.parametrize(("text", "_"), GOOD)
def test_a_frame_that_is_taken_is_what_its_schema_says(text, _):
    message = orjson.loads(text)
    alone("client", message["type"]).validate(message)


@pytest.mark.parametrize(
    "text",
    [
        frame("session.resume", last_sequence=-1),
        frame("prompt.send", client_message_id="a b", text="hi"),
        frame("prompt.send", client_message_id="m", text="x" * (TEXT_CHARACTERS + 1)),
        frame("prompt.send", client_message_id="m", text="hi", route="moon"),
        frame("turn.cancel", turn_id="x"),
        frame("permission.respond", request_id="x", answer="allow_once"),
        frame("policy.set", level="none"),
        frame("no.such"),
    ],
)
def test_a_frame_that_is_refused_is_not_what_a_schema_says(text):
    with pytest.raises((FrameFault, PromptFault)):
        parse(text)
    assert not Draft202012Validator(schema("client")).is_valid(orjson.loads(text))


def test_the_schemas_name_every_reason():
    defined = orjson.dumps(schema("server")).decode()
    for reason in (*get_args(FaultReason), *get_args(PromptFaultReason)):
        assert f'"{reason}"' in defined
        assert f"`{reason}`" in PAGE


def test_the_page_names_every_type_and_every_field():
    for name in ("client", "server"):
        for each in schema(name)["oneOf"]:
            properties = each["properties"]
            assert f"`{properties['type']['const']}`" in PAGE
            payload = resolved(schema(name), properties["payload"])
            for field in payload["properties"]:
                assert re.search(rf"`{field}\??`", PAGE), field


def resolved(whole: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return whole["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node


def test_the_page_names_every_way_of_closing():
    codes = [value.code for value in vars(closing).values() if isinstance(value, closing.Closing)]
    assert {code for code in codes if f"| {code}" not in PAGE} == set()


def test_the_numbers_of_the_page_are_those_of_the_code():
    assert str(FRAME_BYTES) in schema("client")["description"]
    (prompt,) = (each for each in schema("client")["oneOf"] if "prompt.send" in str(each))
    assert prompt["properties"]["payload"]["properties"]["text"]["maxLength"] == TEXT_CHARACTERS
    assert SessionStopped.code in PAGE
    assert set(get_args(frames.PermissionAnswer)) <= set(re.findall(r"`(\w+)`", PAGE))


def test_the_example_is_what_a_real_run_says():
    shown = example.parts(PAGE)[1]
    assert shown == example.example(), "python -m gevent.monkey --module tests.deck.example"
