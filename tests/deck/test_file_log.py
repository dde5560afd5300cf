"""The event log in its file: what is kept, what is let go, and what damage does."""

import os
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.deck.event_index import STEP, EventIndex
from mead.deck.file_log import FileEventLog
from mead.ids import new_session_id
from mead.storage.disk import RealDisk, RealFile
from tests.deck.log_files import ROOM, files_in, opened, replayed, sequence_of, write
from tests.deck.story import Story, numbered, shape


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
