"""What the client takes from a server is what docs/deck-schema/server.json says, and no less."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.deck.client_errors import DeckMisspoke
from mead.deck.client_messages import EVENTS, UNSEQUENCED, read
from tests.deck.schemas import alone, messages, types_of
from tests.helpers.deck_fake import SNAPSHOT, message

WORDS = [None, True, 5, -1, 1.5, "word", [], [5], {}, {"x": 5}]


def said(type_: str) -> dict[str, Any]:
    """One message of that type."""
    extra = {
        "heartbeat": {},
        "frame.rejected": {"reason": "unknown_id", "type": "turn.cancel", "id": "x"},
        "prompt.rejected": {"client_message_id": "m-1", "reason": "empty"},
        "session.snapshot": SNAPSHOT,
    }
    if type_ in extra:
        return orjson.loads(message(type_, extra[type_]))
    return next(each for each in messages() if each["type"] == type_)


def is_refused(shape: Any) -> bool:
    try:
        read(orjson.dumps(shape).decode())
    except DeckMisspoke:
        return True
    return False


def broken(shape: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same with something else in one field, of the message or of its payload."""
    payload = shape["payload"]
    for word in WORDS:
        yield from ({**shape, name: word} for name in shape if name != "type")
        yield from ({**shape, "payload": {**payload, name: word}} for name in payload)


def missing(shape: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same without one field."""
    yield from (without(shape, name) for name in shape)
    payload = shape["payload"]
    yield from ({**shape, "payload": without(payload, name)} for name in payload)


def without(shape: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in shape.items() if key != name}


def test_the_types_are_those_of_the_schema():
    assert [*UNSEQUENCED, *EVENTS] == types_of("server")


def test_all_that_was_recorded_is_taken():
    for each in messages():
        assert read(orjson.dumps(each).decode()) == each


@pytest.mark.parametrize("type_", types_of("server"))
def test_a_field_may_be_missing_where_the_schema_says_so(type_):
    judge = alone("server", type_)
    for shape in missing(said(type_)):
        assert is_refused(shape) is not judge.is_valid(shape), shape


@pytest.mark.parametrize("type_", types_of("server"))
def test_nothing_is_refused_that_the_schema_allows(type_):
    judge = alone("server", type_)
    for shape in broken(said(type_)):
        assert not (judge.is_valid(shape) and is_refused(shape)), shape


@pytest.mark.parametrize("type_", types_of("server"))
def test_a_value_of_another_kind_is_refused(type_):
    shape = said(type_)
    for name, value in shape["payload"].items():
        kind = type(value)
        for word in WORDS:
            if type(word) is not kind and word is not None and value is not None:
                assert is_refused({**shape, "payload": {**shape["payload"], name: word}}), name


@pytest.mark.parametrize(
    "data",
    [
        b"binary",
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{}",
        '{"type": "heartbeat"}',
        '{"type": [], "at": "x", "payload": {}}',
        '{"type": "new.event", "at": "x", "payload": []}',
        '{"type": "new.event", "at": "x", "payload": {}, "sequence": 0}',
        '{"type": "new.event", "at": "x", "payload": {}, "sequence": true}',
        '{"type": "heartbeat", "at": "x", "payload": {}, "sequence": 7}',
        "[" * 100_000,
    ],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(DeckMisspoke):
        read(data)


def test_an_event_without_a_sequence_is_refused():
    assert is_refused(without(said("turn.started"), "sequence"))


def test_a_number_that_a_page_could_not_hold_is_refused():
    assert is_refused({**said("turn.started"), "sequence": 2**53})


def test_a_type_that_is_new_passes():
    shape = {"type": "turn.dreamt", "at": "x", "payload": {"of": "sheep"}, "sequence": 8, "more": 1}
    assert read(orjson.dumps(shape).decode()) == shape


@given(st.text() | st.binary())
def test_no_bytes_make_it_fail_otherwise(data):
    with pytest.raises(DeckMisspoke):
        read(data)
