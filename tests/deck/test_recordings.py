"""Recorded conversations come to the states that stand beside them; so do new ones like them."""

from typing import Any, get_args

import orjson
import pytest

from mead.deck.events import EventType
from tests.deck import record
from tests.deck.record import NAMES, lines


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_comes_to_its_state(name):
    events = lines(record.RECORDINGS / f"{name}.jsonl")
    state = orjson.loads((record.RECORDINGS / f"{name}.json").read_bytes())
    assert record.expected(events) == state


def test_nothing_else_is_recorded():
    found = {path.stem for path in record.RECORDINGS.iterdir()}
    assert found == set(NAMES)


def test_the_recordings_hold_every_event():
    recorded = {
        event["type"] for name in NAMES for event in lines(record.RECORDINGS / f"{name}.jsonl")
    }
    assert recorded == set(get_args(EventType))


@pytest.mark.parametrize("conversation", record.CONVERSATIONS, ids=NAMES)
def test_a_new_run_says_the_same_as_the_recording(conversation):
    recorded = lines(record.RECORDINGS / f"{conversation.__name__}.jsonl")
    assert shapes(conversation().events) == shapes(recorded)


def shapes(events: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Types and fields, in order; how deltas were joined is a matter of time."""
    told = [(event["type"], sorted(event["payload"])) for event in events]
    return [each for place, each in enumerate(told) if place == 0 or each != told[place - 1]]
