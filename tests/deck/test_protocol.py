"""Client frames: every limit from both sides."""

from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.deck import frames, protocol
from mead.deck.frames import FrameFault, PromptFault
from mead.deck.protocol import FRAME_BYTES, TEXT_CHARACTERS, parse
from tests.deck.good_frames import GOOD, UUID, frame


def fault(message: str | bytes) -> FrameFault:
    with pytest.raises(FrameFault) as caught:
        parse(message)
    return caught.value


def prompt_fault(message: str) -> PromptFault:
    with pytest.raises(PromptFault) as caught:
        parse(message)
    return caught.value


@pytest.mark.parametrize(("message", "expected"), GOOD)
def test_a_frame_of_every_type_is_read(message, expected):
    assert parse(message) == expected


def test_every_type_has_a_good_example_here():
    assert {orjson.loads(message)["type"] for message, _ in GOOD} == set(protocol.CLIENT_FRAMES)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"{}", "binary"),
        ("", "not_json"),
        ("{", "not_json"),
        ('{"type": NaN}', "not_json"),
        ('"\\ud800"', "not_json"),
        ("[]", "not_an_object"),
        ("7", "not_an_object"),
        ("{}", "unknown_type"),
        ('{"type": 1, "payload": {}}', "unknown_type"),
        (frame("prompt.sent"), "unknown_type"),
        ('{"type": "policy.set", "payload": []}', "invalid_payload"),
        ('{"type": "policy.set"}', "invalid_payload"),
        (frame("session.resume"), "invalid_payload"),
        (frame("session.resume", last_sequence=-1), "invalid_payload"),
        (frame("session.resume", last_sequence=True), "invalid_payload"),
        (frame("session.resume", last_sequence=1.0), "invalid_payload"),
        (frame("session.resume", last_sequence=2**53), "invalid_payload"),
        (frame("session.resume", last_sequence=0, device_id=""), "invalid_payload"),
        (frame("session.resume", last_sequence=0, device_id="x" * 65), "invalid_payload"),
        (frame("session.resume", last_sequence=0, device_id="ü"), "invalid_payload"),
        (frame("prompt.send", client_message_id="m"), "invalid_payload"),
        (frame("prompt.send", client_message_id="m", text=7), "invalid_payload"),
        (frame("prompt.send", client_message_id="a b", text="hi"), "invalid_payload"),
        (frame("prompt.send", client_message_id="m\n", text="hi"), "invalid_payload"),
        (frame("turn.cancel", turn_id=UUID.upper()), "invalid_payload"),
        (frame("permission.respond", request_id=UUID, answer="yes"), "invalid_payload"),
        (frame("permission.respond", request_id=UUID, answer=["allow_once"]), "invalid_payload"),
        (frame("choice.respond", request_id=UUID, option=""), "invalid_payload"),
        (frame("permission.forget", tool=""), "invalid_payload"),
        (frame("policy.set", level="none"), "invalid_payload"),
    ],
)
def test_a_frame_that_does_not_speak_the_protocol_counts(message, reason):
    found = fault(message)
    assert found.reason == reason
    assert found.counts


def test_a_fault_names_the_frame_and_what_it_is_about():
    found = fault(frame("permission.respond", request_id=UUID, answer="perhaps"))
    assert (found.type, found.id) == ("permission.respond", UUID)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": ""}, "empty"),
        ({"text": " \n\t "}, "empty"),
        ({"text": "x" * (TEXT_CHARACTERS + 1)}, "too_long"),
        ({"text": "hi", "route": "moon"}, "invalid_route"),
        ({"text": "hi", "route": 7}, "invalid_route"),
        ({"text": "hi", "route": ["auto"]}, "invalid_route"),
    ],
)
def test_a_prompt_that_cannot_be_taken_is_refused_under_its_own_id(fields, reason):
    found = prompt_fault(frame("prompt.send", client_message_id="m1", **fields))
    assert (found.client_message_id, found.reason, found.counts) == ("m1", reason, False)


def test_the_longest_prompt_is_taken():
    assert parse(frame("prompt.send", client_message_id="m" * 64, text="x" * TEXT_CHARACTERS))


def padded(size: int) -> str:
    """A frame of that many bytes."""
    bare = len(frame("policy.set", level="read_only", padding=""))
    return frame("policy.set", level="read_only", padding="x" * (size - bare))


def test_a_frame_may_have_exactly_64_kib():
    assert len(padded(FRAME_BYTES)) == FRAME_BYTES == 65536
    assert parse(padded(FRAME_BYTES))
    assert fault(padded(FRAME_BYTES + 1)).reason == "too_large"


def test_the_limit_counts_bytes_not_characters():
    assert fault(frame("policy.set", level="read_only", padding="é" * 40_000)).reason == "too_large"


def test_a_prompt_in_a_frame_that_is_too_large_is_told_so_under_its_id():
    found = prompt_fault(frame("prompt.send", client_message_id="m1", text="x" * FRAME_BYTES))
    assert (found.client_message_id, found.reason, found.counts) == ("m1", "too_long", True)


def test_what_a_newer_client_adds_is_ignored():
    message = orjson.dumps(
        {"type": "policy.set", "payload": {"level": "read_only", "why": 1}, "trace": "x"}
    ).decode()
    assert parse(message) == frames.SetPolicy(level="read_only")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
fields = st.sampled_from(
    ["client_message_id", "text", "route", "last_sequence", "request_id", "answer", "level", "tool"]
)


@given(
    st.sampled_from(protocol.CLIENT_FRAMES),
    st.dictionaries(fields, json_values | st.just(UUID) | st.just("m")),
)
def test_whatever_comes_is_a_frame_or_a_fault(type_, payload):
    try:
        message = orjson.dumps({"type": type_, "payload": payload}).decode()
    except orjson.JSONEncodeError:
        return
    with suppress(FrameFault, PromptFault):
        parse(message)


@given(st.text() | st.binary())
def test_whatever_text_comes_is_a_fault(message):
    with pytest.raises(FrameFault):
        parse(message)
