"""The event log in its file: what is kept, what is let go, and what damage does."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gevent
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.deck import builders
from mead.deck.event_index import STEP, EventIndex
from mead.deck.event_log import Limits, Overtaken
from mead.deck.file_log import FileEventLog
from mead.deck.fold import apply
from mead.ids import new_session_id, new_uuid
from mead.storage.disk import RealDisk, RealFile
from mead.storage.event_files import EventFiles
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy
from tests.deck.story import Story, numbered, shape
from tests.helpers.waiting import eventually
from tests.storage.gate import Gate

BIG = 10_000
MIB = 1_048_576
ROOM = Limits(BIG, 64 * MIB)


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def files(disk, tmp_path) -> EventFiles:
    return files_in(disk, tmp_path)


def files_in(disk, directory, fsync="turn") -> EventFiles:
    policy = WritePolicy(fsync=fsync, compact_after_bytes=1)
    return EventFiles(disk, directory, policy, Syncer(3_600_000))


@contextmanager
def opened(files, session_id, limit=BIG, size=64 * MIB, boot="boot-1"):
    limits = Limits(limit, size)
    log, state = FileEventLog.open(files, session_id, limits, boot=lambda: boot)
    try:
        yield log, state
    finally:
        log.close()


def write(log, state, events, *, sync=False) -> None:
    for event in numbered(events, state.last_sequence + 1):
        log.append([event], sync=sync)
        apply(state, event)
        log.compact(state)


def write_while(condition, log, state, story) -> None:
    while condition():
        write(log, state, story.events(1))


def replayed(log, state, after=0) -> list[int]:
    reader = log.reader(after)
    found: list[bytes] = []
    while events := reader.read(state.last_sequence):
        found += events
    reader.close()
    return [sequence_of(each) for each in found]


def drain(reader, state) -> None:
    while reader.read(state.last_sequence):
        pass


def sequence_of(event: bytes) -> int:
    return orjson.loads(event)["sequence"]


def test_a_log_comes_back_with_its_state_and_its_id(files):
    session_id = new_session_id()
    with opened(files, session_id) as (log, state):
        write(log, state, Story(3).events(4))
        log_id, before = log.log_id, shape(state)
    with opened(files, session_id) as (log, state):
        assert log.log_id == log_id
        assert shape(state) == before
        assert replayed(log, state) == list(range(1, state.last_sequence + 1))


def test_what_is_read_is_what_was_written(files):
    with opened(files, new_session_id()) as (log, _):
        events = numbered(Story(5).events(3))
        log.append(events, sync=True)
        assert log.reader(0).read(len(events)) == [event.encode() for event in events]


def test_a_reader_gives_nothing_beyond_what_it_is_asked_for(files):
    with opened(files, new_session_id()) as (log, state):
        write(log, state, Story(5).events(2))
        reader = log.reader(1)
        assert [sequence_of(event) for event in reader.read(4)] == [2, 3, 4]
        assert reader.position == 4
        assert not reader.read(4)
        reader.close()


@given(st.integers(0, 2**32), st.integers(0, 100), st.lists(st.integers(1, 60), max_size=5))
@settings(max_examples=15)
def test_a_replay_may_start_anywhere_and_be_left_and_taken_up_again(
    tmp_path_factory, seed, start, takes
):
    disk = RealDisk()
    files = files_in(disk, tmp_path_factory.mktemp("log"), "never")
    with opened(files, new_session_id(), limit=60) as (log, state):
        story = Story(seed)
        write(log, state, story.events(3))
        seen = after = state.first_sequence - 1 + start % (state.last_sequence + 1)
        found: list[int] = []
        for take in takes:
            reader = log.reader(seen)
            found += map(sequence_of, list(reader.read(state.last_sequence))[:take])
            reader.close()
            seen = found[-1] if found else after
            write(log, state, story.accepted())
        found += replayed(log, state, seen)
    disk.close()
    assert found == list(range(after + 1, state.last_sequence + 1))


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


# -- the end of the file ---------------------------------------------------------------------------


def test_a_killed_process_keeps_the_log_id(files):
    session_id = new_session_id()
    log, state = FileEventLog.open(files, session_id, ROOM, boot=lambda: "boot-1")
    write(log, state, Story(1).events(1))
    with opened(files, session_id) as (again, _):
        assert again.log_id == log.log_id
    log.close()


def test_a_machine_that_went_down_gives_an_open_log_another_id(files):
    session_id = new_session_id()
    log, state = FileEventLog.open(files, session_id, ROOM, boot=lambda: "boot-1")
    write(log, state, Story(1).events(1))
    with opened(files, session_id, boot="boot-2") as (again, kept):
        assert again.log_id != log.log_id
        assert shape(kept) == shape(state)
        second = again.log_id
    with opened(files, session_id, boot="boot-3") as (third, _):
        assert third.log_id == second  # it was closed in order
    log.close()


def test_where_the_boot_is_unknown_only_an_end_in_order_keeps_the_id(files):
    session_id = new_session_id()
    log, _ = FileEventLog.open(files, session_id, ROOM, boot=lambda: "")
    with opened(files, session_id, boot="") as (again, _):
        assert again.log_id != log.log_id
        second = again.log_id
    with opened(files, session_id, boot="") as (third, _):
        assert third.log_id == second
    log.close()


def test_a_torn_tail_is_cut_and_gives_another_id(files, tmp_path):
    session_id = new_session_id()
    with opened(files, session_id) as (log, state):
        write(log, state, Story(4).events(3))
        log_id, last = log.log_id, state.last_sequence
    path = tmp_path / f"{session_id}.events"
    whole = path.read_bytes()
    ends = record_ends(whole)
    for cut in (ends[-3] + 3, ends[-4] + 20, ends[-6] + 1):
        path.write_bytes(whole[:cut])
        with opened(files, session_id) as (log, state):
            assert log.log_id != log_id
            assert state.last_sequence < last
            assert replayed(log, state) == list(range(1, state.last_sequence + 1))


def test_damage_before_the_end_sets_the_log_aside(files, tmp_path):
    session_id = new_session_id()
    with opened(files, session_id) as (log, state):
        write(log, state, Story(4).events(3), sync=True)
        log_id = log.log_id
    path = tmp_path / f"{session_id}.events"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with opened(files, session_id) as (log, state):
        assert log.log_id != log_id
        assert state.last_sequence == 0
    assert (tmp_path / f"{session_id}.events.corrupt").read_bytes() == damaged


@pytest.mark.parametrize(
    "record",
    [
        {"type": "prompt.accepted"},
        {"type": "no.such", "sequence": 1, "at": "", "payload": {}},
        {"type": "turn.started", "sequence": 1, "at": "", "payload": {"turn_id": "x"}},
        {"type": "policy.updated", "sequence": 2, "at": "", "payload": {"level": "x"}},
        {"head": {}},
        {"what": 1},
        7,
    ],
)
def test_records_that_make_no_sense_set_the_log_aside(files, tmp_path, record):
    session_id = new_session_id()
    with opened(files, session_id):
        pass
    records = files.open(session_id, lambda _: None)
    records.append(orjson.dumps(record), sync=True)
    records.close()
    with opened(files, session_id) as (_, state):
        assert state.last_sequence == 0
    assert (tmp_path / f"{session_id}.events.corrupt").exists()


def test_a_file_that_a_crash_left_empty_becomes_a_log(files, tmp_path):
    session_id = new_session_id()
    (tmp_path / f"{session_id}.events").touch(mode=0o600)
    with opened(files, session_id) as (log, state):
        write(log, state, Story(1).events(1))
        log_id = log.log_id
    with opened(files, session_id) as (log, _):
        assert log.log_id == log_id


def test_the_file_is_private(files, tmp_path):
    session_id = new_session_id()
    with opened(files, session_id):
        assert (tmp_path / f"{session_id}.events").stat().st_mode & 0o777 == 0o600


def record_ends(data: bytes) -> list[int]:
    ends, at = [], 0
    while at < len(data):
        at += 12 + int.from_bytes(data[at : at + 4], "big")
        ends.append(at)
    return ends


# -- the syncs -------------------------------------------------------------------------------------


class CountedFile(RealFile):
    """Tells when it is synced."""

    def __init__(self, file: RealFile, on_sync: Callable[[], None]) -> None:
        super().__init__(os.dup(file._fd))
        file.close()
        self._on_sync = on_sync

    def sync(self) -> None:
        self._on_sync()
        super().sync()


class CountingDisk(RealDisk):
    """Counts the syncs of files."""

    def __init__(self) -> None:
        super().__init__()
        self.syncs = 0

    def open(self, path, mode):
        return CountedFile(super().open(path, mode), self._count)

    def _count(self) -> None:
        self.syncs += 1


@pytest.mark.parametrize(
    ("fsync", "plain", "wanted"),
    [("always", 1, 1), ("turn", 0, 1), ("interval", 0, 0), ("never", 0, 0)],
)
def test_what_is_synced_before_it_is_sent_follows_the_policy(tmp_path, fsync, plain, wanted):
    disk = CountingDisk()
    log, _ = FileEventLog.open(files_in(disk, tmp_path, fsync), new_session_id(), ROOM)
    event, another = numbered(Story(1).accepted() + Story(2).accepted())
    before = disk.syncs
    log.append([event], sync=False)
    assert disk.syncs - before == plain
    before = disk.syncs
    log.append([another], sync=True)
    assert disk.syncs - before == wanted
    log.close()
    disk.close()


# -- titles ----------------------------------------------------------------------------------------


def test_titles_are_found_again(files, tmp_path):
    one, two = new_session_id(), new_session_id()
    files.write_title(one, "Tea 🍵")
    files.write_title(two, "first")
    files.write_title(two, "second")
    (tmp_path / "notes.title").write_text("not ours")
    assert files.titles() == {one: "Tea 🍵", two: "second"}
    assert not list(tmp_path.glob("*.tmp"))


# -- the index -------------------------------------------------------------------------------------


@given(st.permutations(range(1, 400)))
def test_the_index_never_points_beyond_what_is_sought(order):
    index = EventIndex()
    for sequence in order:
        index.note(sequence, sequence * 10)
    for sequence in range(1, 400):
        found = index.before(sequence)
        assert found <= sequence * 10
        assert found == 0 or sequence * 10 - found < 2 * STEP * 10
