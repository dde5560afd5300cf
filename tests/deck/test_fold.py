"""The state of a deck is a fold of its events."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.deck import builders
from mead.deck.events import Event
from mead.deck.fold import KNOWN_PROMPTS, apply
from mead.deck.state import DeckState
from mead.ids import new_uuid
from tests.deck.story import AT, Story, folded, numbered, shape

SEEDS = st.integers(min_value=0, max_value=2**32)


@given(SEEDS)
def test_a_replayed_state_equals_the_live_one_after_every_event(seed):
    live, replayed = DeckState(), DeckState()
    for event in numbered(Story(seed).events(4)):
        apply(live, event)
        apply(replayed, Event.decode(orjson.loads(event.encode())))
        assert shape(replayed) == shape(live)


@given(SEEDS, st.data())
def test_a_compacted_log_comes_to_the_same_state(seed, data):
    events = numbered(Story(seed).events(6))
    live = folded(events)
    first = data.draw(st.sampled_from(live.quiet))
    kept = orjson.loads(orjson.dumps(live.kept(first)))
    restored = folded(events[first - 1 :], DeckState.restored(kept, first))
    live.forget_before(first)
    assert shape(restored) == shape(live)


@given(SEEDS)
def test_a_conversation_whose_turns_ended_leaves_nothing_open(seed):
    state = folded(numbered(Story(seed).events(3)))
    assert state.is_idle
    assert not state.pending
    assert all(known.ending is not None for known in state.known.values())


def test_a_gap_and_a_repetition_are_damage():
    events = numbered(Story(1).events(3))
    state = folded(events[:2])
    for wrong in (events[1], events[3]):
        with pytest.raises(ValueError, match="was due"):
            apply(state, wrong)


def test_a_turn_without_its_prompt_is_damage():
    with pytest.raises(KeyError):
        folded(numbered([builders.turn_started(new_uuid())]))


def test_what_belongs_to_a_turn_that_was_compacted_away_changes_nothing():
    turn_id = new_uuid()
    stray = [
        *builders.text_deltas(turn_id, "late"),
        builders.turn_completed(turn_id, "end_turn", 1),
        *builders.metrics(turn_id, 1, 2),
    ]
    state = folded(numbered(stray))
    assert state.is_idle
    assert state.last_sequence == 4


def test_only_the_newest_thousand_prompts_are_remembered():
    events = list(cancelled_prompts(KNOWN_PROMPTS + 5))
    state = folded(numbered(events))
    assert len(state.known) == 1000
    assert "m4" not in state.known
    assert "m5" in state.known


def test_a_prompt_that_runs_or_waits_is_remembered_whatever_comes_after_it():
    runs, waits = new_uuid(), new_uuid()
    events = [accepted("runs", runs), builders.turn_started(runs), accepted("waits", waits)]
    events += cancelled_prompts(KNOWN_PROMPTS + 5)
    state = folded(numbered(events))
    assert len(state.known) == 1000
    assert list(state.known)[:3] == ["runs", "waits", "m7"]
    ending = [builders.turn_completed(runs, None, 1), *builders.metrics(runs, 1, 1)]
    more = [*ending, accepted("next", new_uuid())]
    folded(numbered(more, state.last_sequence + 1), state)
    assert list(state.known)[:2] == ["waits", "m7"]


def accepted(message_id, turn_id):
    return builders.prompt_accepted(
        client_message_id=message_id, turn_id=turn_id, text="x", route=None, origin="deck"
    )


def cancelled_prompts(count):
    for number in range(count):
        turn_id = new_uuid()
        yield accepted(f"m{number}", turn_id)
        yield builders.prompt_cancelled(f"m{number}", turn_id, "by_person")


def test_the_first_prompt_names_a_conversation_until_a_person_does():
    state = folded(numbered(Story(1).accepted()))
    long = builders.prompt_accepted(
        client_message_id="m",
        turn_id=new_uuid(),
        text=" " * 500 + "one\ntwo " + "x" * 100,
        route=None,
        origin="deck",
    )
    fresh = folded([Event(long.type, 1, AT, long.payload)])
    assert fresh.title == ("one two " + "x" * 100)[:60]
    named = builders.session_titled("Tea", "phone")
    apply(state, Event(named.type, 2, AT, named.payload))
    assert state.title == "Tea"
