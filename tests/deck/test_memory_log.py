"""The event log without a storage directory: bounded, whatever is said."""

import tracemalloc

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.deck import builders
from mead.deck.event_log import Limits, Overtaken
from mead.deck.events import Event
from mead.deck.fold import KNOWN_PROMPTS, apply
from mead.deck.memory_log import MemoryEventLog
from mead.deck.state import DeckState
from mead.ids import new_uuid
from tests.deck.story import Story, numbered

MIB = 1_048_576


def memory_log(events, size=64 * MIB) -> MemoryEventLog:
    return MemoryEventLog(Limits(events, size))


def write(log, state, events) -> list[Event]:
    told = numbered(events, state.last_sequence + 1)
    for event in told:
        log.append([event], sync=True)
        apply(state, event)
        log.compact(state)
    return told


def replayed(log, state, after) -> list[dict]:
    reader = log.reader(after)
    found: list[dict] = []
    while events := reader.read(state.last_sequence):
        found += map(orjson.loads, events)
    return found


def drain(reader, state) -> None:
    while reader.read(state.last_sequence):
        pass


def covered(events: list[dict]) -> list[int]:
    return [event["sequence"] for event in events]


def long_turn(deltas: int) -> list:
    turn_id = new_uuid()
    return [
        builders.prompt_accepted(
            client_message_id=f"m{turn_id}", turn_id=turn_id, text="go", route=None, origin="deck"
        ),
        builders.turn_started(turn_id),
        *(builders.text_deltas(turn_id, f"<{number}>")[0] for number in range(deltas)),
    ]


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_the_oldest_whole_turns_go_and_no_sequence_is_missing(seed):
    log, state = memory_log(60), DeckState()
    write(log, state, Story(seed).events(30))
    assert len(log.entries) < 60 + 6 + 100
    events = replayed(log, state, state.first_sequence - 1)
    assert covered(events) == list(range(state.first_sequence, state.last_sequence + 1))
    assert events[0]["type"] == "prompt.accepted"


def test_a_log_of_many_turns_stays_near_its_limit():
    log, state = memory_log(100), DeckState()
    story = Story(1)
    most = 0
    for _ in range(200):
        write(log, state, story.events(1))
        most = max(most, len(log.entries))
    assert most <= 160
    assert state.first_sequence > 500


def test_a_full_log_is_cut_once_in_many_turns():
    log, state = memory_log(500), DeckState()
    story = Story(1)
    starts = []
    for _ in range(200):
        write(log, state, story.events(1))
        starts.append(state.first_sequence)
        assert len(log.entries) <= 500 + 100
    assert state.first_sequence > 1000
    # A cut leaves about 400 events, so that at least about 100 follow before the next one.
    assert len(set(starts)) - 1 <= state.last_sequence // 80


def test_a_running_turn_longer_than_the_limit_has_its_oldest_deltas_joined():
    log, state = memory_log(100), DeckState()
    write(log, state, long_turn(5000))
    assert len(log.entries) <= 111
    events = replayed(log, state, 0)
    assert covered(events) == list(range(1, 5003))
    assert text_of(events) == "".join(f"<{number}>" for number in range(5000))


@given(st.integers(0, 5002))
@settings(max_examples=40)
def test_a_client_inside_joined_deltas_gets_exactly_what_it_lacks(after):
    log, state = memory_log(100), DeckState()
    told = write(log, state, long_turn(5000))
    events = replayed(log, state, after)
    assert covered(events) == list(range(after + 1, 5003))
    lacking = [event.payload["text"] for event in told[after:] if event.type == "text.delta"]
    assert text_of(events) == "".join(lacking)


def test_what_was_joined_is_read_as_it_was_said():
    log, state = memory_log(50), DeckState()
    told = write(log, state, long_turn(400))
    assert len(log.entries) <= 56
    assert replayed(log, state, 0) == [orjson.loads(event.encode()) for event in told]


def test_a_reader_gives_nothing_beyond_what_it_is_asked_for():
    log, state = memory_log(50), DeckState()
    write(log, state, Story(3).events(2))
    reader = log.reader(0)
    assert len(reader.read(3)) == 3
    assert reader.position == 3
    assert not reader.read(3)


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_too_many_bytes_go_with_the_oldest_whole_turns(seed):
    log, state = memory_log(10_000, 20_000), DeckState()
    for event in Story(seed).events(60):
        write(log, state, [event])
        assert log.size == sum(entry.size for entry in log.entries)
        assert not log.is_full or state.quiet[-1] == state.first_sequence
    assert state.first_sequence > 1
    events = replayed(log, state, state.first_sequence - 1)
    assert covered(events) == list(range(state.first_sequence, state.last_sequence + 1))


def test_the_size_is_the_memory_that_is_taken():
    log, state = memory_log(1_000_000), DeckState()
    turn_id = new_uuid()
    write(log, state, long_turn(0))
    tracemalloc.start()
    try:
        before, size = tracemalloc.get_traced_memory()[0], log.size
        for number in range(5000):
            log.append(numbered(builders.text_deltas(turn_id, "tea"), number + 3), sync=False)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.8 * taken <= log.size - size <= 1.4 * taken


def test_deltas_are_not_joined_across_a_tool_call():
    log, state = memory_log(10), DeckState()
    write(log, state, long_turn(20))
    turn_id = state.turn.prompt.turn_id
    write(log, state, [builders.tool_call_finished(turn_id, new_uuid(), "ok", "done")])
    for number in range(60):
        write(log, state, builders.text_deltas(turn_id, f"({number})"))
    kept = [entry.type for entry in log.entries]
    assert kept == [
        "prompt.accepted",
        "turn.started",
        "text.delta",
        "tool_call.finished",
        *["text.delta"] * (len(kept) - 4),
    ]
    assert len(kept) < 20


def test_a_prompt_that_waits_is_never_let_go():
    log, state = memory_log(10), DeckState()
    write(log, state, long_turn(0))
    turn_id = state.turn.prompt.turn_id
    waiting = builders.prompt_accepted(
        client_message_id="waits", turn_id=new_uuid(), text="later", route=None, origin="deck"
    )
    write(log, state, [waiting])
    for _ in range(100):
        write(log, state, [builders.policy_updated("read_only", "phone")])
    write(log, state, [builders.turn_completed(turn_id, None, 1), *builders.metrics(turn_id, 1, 1)])
    write(log, state, [builders.policy_updated("read_only", "phone")] * 20)
    accepted = [e for e in replayed(log, state, state.first_sequence - 1) if "text" in e["payload"]]
    assert accepted[-1]["payload"]["client_message_id"] == "waits"


def test_a_turn_during_which_a_thousand_prompts_were_cancelled_is_never_let_go():
    log, state = memory_log(100), DeckState()
    write(log, state, long_turn(0))
    turn_id = state.turn.prompt.turn_id
    for number in range(KNOWN_PROMPTS + 5):
        other = new_uuid()
        prompt = builders.prompt_accepted(
            client_message_id=f"q{number}", turn_id=other, text="x", route=None, origin="deck"
        )
        write(log, state, [prompt, builders.prompt_cancelled(f"q{number}", other, "by_person")])
    assert replayed(log, state, 0)[0]["payload"]["turn_id"] == turn_id


def test_a_reader_goes_on_in_what_it_had_and_then_in_what_there_is():
    log, state = memory_log(50), DeckState()
    write(log, state, Story(3).events(2))
    reader = log.reader(0)
    found = [orjson.loads(event) for event in reader.read(3)]
    story = Story(4)
    while state.first_sequence == 1:
        write(log, state, story.events(1))
    while events := reader.read(state.last_sequence):
        found += map(orjson.loads, events)
    assert covered(found) == list(range(1, state.last_sequence + 1))


def test_a_reader_that_is_overtaken_is_told_so():
    log, state = memory_log(50), DeckState()
    write(log, state, Story(3).events(2))
    reader = log.reader(0)
    reader.read(3)
    write(log, state, Story(4).events(40))
    with pytest.raises(Overtaken):
        drain(reader, state)


def text_of(events: list[dict]) -> str:
    return "".join(e["payload"]["text"] for e in events if e["type"] == "text.delta")
