"""Compaction of an event log in a file: what is cut, when, and what its readers see."""

import gevent
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.deck import builders
from mead.deck.event_log import Overtaken
from mead.ids import new_session_id, new_uuid
from mead.storage.disk import RealDisk
from tests.deck.log_files import BIG, MIB, files_in, opened, replayed, sequence_of, write
from tests.deck.story import Story, shape
from tests.helpers.waiting import eventually
from tests.storage.gate import Gate


def write_while(condition, log, state, story) -> None:
    while condition():
        write(log, state, story.events(1))


def drain(reader, state) -> None:
    while reader.read(state.last_sequence):
        pass


def test_a_reader_goes_on_over_a_compaction_without_a_gap(files):
    with opened(files, new_session_id(), limit=50) as (log, state):
        story = Story(8)
        write(log, state, story.events(5))
        reader = log.reader(state.first_sequence - 1)
        first = state.first_sequence
        found = list(reader.read(first + 2))
        while state.first_sequence <= first + 2:
            write(log, state, story.events(5))
        while events := reader.read(state.last_sequence):
            found += events
        reader.close()
    assert [orjson.loads(each)["sequence"] for each in found] == list(
        range(first, state.last_sequence + 1)
    )


class SlowDirectory(RealDisk):
    """Its directories take as long to sync as `meanwhile` does."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: Gate | None = None

    def sync_directory(self, directory) -> None:
        if self.gate is not None:
            assert self.gate.wait()
        super().sync_directory(directory)


def test_a_reader_that_comes_while_a_compaction_changes_the_file_reads_what_it_lacks(tmp_path):
    disk = SlowDirectory()
    files, session_id, story = files_in(disk, tmp_path), new_session_id(), Story(8)
    with opened(files, session_id, limit=500) as (log, state):
        write_while(lambda: state.last_sequence < 450, log, state, story)
        path = tmp_path / f"{session_id}.events"
        after, old = state.last_sequence - 50, path.stat().st_ino
        early = log.reader(after)
        disk.gate = Gate()
        writing = gevent.spawn(write_while, lambda: state.first_sequence == 1, log, state, story)
        eventually(lambda: path.stat().st_ino != old)
        late = log.reader(after)
        for reader in (early, late):
            found = reader.read(state.last_sequence)
            assert sequence_of(found[0]) == after + 1
        disk.gate.set()
        writing.join()
        for reader in (early, late):
            drain(reader, state)
            assert reader.position == state.last_sequence
            reader.close()
    disk.close()


def test_a_reader_that_is_overtaken_is_told_so(files):
    with opened(files, new_session_id(), limit=50) as (log, state):
        story = Story(8)
        write(log, state, story.events(3))
        reader = log.reader(state.first_sequence - 1)
        reader.read(state.first_sequence + 2)
        write(log, state, story.events(100))
        with pytest.raises(Overtaken):
            drain(reader, state)
        reader.close()


def test_a_compaction_keeps_about_the_limit_and_cuts_before_a_quiet_prompt(files):
    session_id = new_session_id()
    with opened(files, session_id, limit=60) as (log, state):
        write(log, state, Story(11).events(60))
        assert state.first_sequence > 1
        assert state.quiet[0] == state.first_sequence
        assert state.last_sequence - state.first_sequence < 150
        before, log_id = shape(state), log.log_id
    with opened(files, session_id) as (log, state):
        assert shape(state) == before
        assert log.log_id == log_id
        sequences = replayed(log, state, state.first_sequence - 1)
    assert sequences == list(range(before["first_sequence"], before["last_sequence"] + 1))


def test_a_full_log_is_compacted_once_in_many_turns(files):
    with opened(files, new_session_id(), limit=500) as (log, state):
        starts = []
        for number in range(300):
            write(log, state, short_turn(f"m{number}"))
            starts.append(state.first_sequence)
        kept = state.last_sequence - state.first_sequence + 1
    assert 400 <= kept <= 500
    compactions = len(set(starts)) - 1
    assert 5 <= compactions <= 12


def short_turn(message_id) -> list:
    turn_id = new_uuid()
    return [
        builders.prompt_accepted(
            client_message_id=message_id, turn_id=turn_id, text="x", route=None, origin="deck"
        ),
        builders.turn_started(turn_id),
        builders.turn_completed(turn_id, "end_turn", 1),
        *builders.metrics(turn_id, 1, 1),
    ]


@given(st.integers(0, 2**32))
@settings(max_examples=8)
def test_too_many_bytes_are_cut_while_a_turn_runs_and_the_state_comes_back(tmp_path_factory, seed):
    disk = RealDisk()
    files = files_in(disk, tmp_path_factory.mktemp("log"), "never")
    session_id, size = new_session_id(), 12_000
    with opened(files, session_id, size=size) as (log, state):
        events, most = Story(seed).events(60), 0
        for event in events[: len(events) - seed % 30]:
            write(log, state, [event])
            if not log.is_full:
                most = max(most, log._records.size)
            assert not log.is_full or state.quiet[-1] == state.first_sequence
        assert state.first_sequence > 1
        assert most <= size
        before, log_id = shape(state), log.log_id
    with opened(files, session_id, size=size) as (log, state):
        assert shape(state) == before
        assert log.log_id == log_id
        sequences = replayed(log, state, state.first_sequence - 1)
    disk.close()
    assert sequences == list(range(before["first_sequence"], before["last_sequence"] + 1))


def test_too_many_events_wait_until_nothing_runs_and_too_many_bytes_do_not(files):
    for limit, size, is_cut in ((20, 64 * MIB, False), (BIG, 3000, True)):
        with opened(files, new_session_id(), limit=limit, size=size) as (log, state):
            for number in range(3):
                write(log, state, short_turn(f"m{number}"))
            *running, end, tokens_in, tokens_out = short_turn("runs")
            turn_id = running[0].payload["turn_id"]
            write(log, state, [*running, *builders.text_deltas(turn_id, "x") * 20])
            assert (state.first_sequence > 1) is is_cut
            write(log, state, [end, tokens_in, tokens_out])
            assert state.first_sequence > 1


def test_too_many_bytes_leave_four_fifths_of_the_limit(files):
    with opened(files, new_session_id(), size=100_000) as (log, state):
        sizes = []
        for number in range(400):
            before = log._records.size
            write(log, state, short_turn(f"m{number}"))
            if log._records.size < before:
                sizes.append(log._records.size)
    assert 5 <= len(sizes) <= 20
    assert all(70_000 <= size <= 100_000 for size in sizes)


def test_one_turn_longer_than_the_limit_is_kept_whole(files):
    with opened(files, new_session_id(), limit=1) as (log, state):
        write(log, state, Story(2).events(1))
        assert state.first_sequence == 1
