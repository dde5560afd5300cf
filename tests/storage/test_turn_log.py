"""FileTurnLog: what is synced when, and what happens when the disk refuses."""

from pathlib import Path

import pytest

from mead.config.settings import StorageSettings
from mead.errors import PersistenceError
from mead.ids import new_session_id
from mead.protocols import TurnAppended, TurnReplaced, TurnsInterrupted
from mead.storage.session_store import FileStore
from mead.storage.turn_log import FileTurnLog
from mead.turn import TurnStatus
from tests.helpers.waiting import eventually
from tests.storage.conversation import AT, completed, events_of, failed, running, turns_of
from tests.storage.simulated import SimulatedDisk

DIRECTORY = Path("/simulated")
ID = new_session_id()
NAME = f"{ID}.log"


def store_on(disk: SimulatedDisk, fsync: str = "turn", **more) -> FileStore:
    return FileStore(StorageSettings(directory=DIRECTORY, fsync=fsync, **more), disk=disk)


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def log(disk) -> FileTurnLog:
    return store_on(disk).create(ID)


def stored(disk: SimulatedDisk, *, certain: bool = False):
    """What another process would load, or would after a power cut."""
    names = disk.certain_names if certain else disk.names
    files = {name: bytes(i.certain if certain else i.seen) for name, i in names.items()}
    return store_on(SimulatedDisk(files)).load(ID)


def syncs(disk: SimulatedDisk) -> int:
    return disk.did.count(("sync", NAME))


# -- storage.fsync ---------------------------------------------------------------------------------


@pytest.mark.spec("storage.fsync")
@pytest.mark.parametrize(
    ("fsync", "expected"), [("always", 3), ("turn", 3), ("interval", 0), ("never", 0)]
)
def test_opening_closing_and_interruption_are_synced_as_the_policy_says(fsync, expected) -> None:
    disk = SimulatedDisk()
    store = store_on(disk, fsync)
    log = store.create(ID)
    turn = running()
    assert log.write(TurnAppended(turn)) is True
    assert log.write(TurnReplaced(completed(turn))) is True
    assert log.write(TurnsInterrupted(AT)) is True
    assert syncs(disk) == expected
    assert [t.status for t in stored(disk)] == [TurnStatus.COMPLETED]
    store.close()


@pytest.mark.parametrize(
    ("fsync", "synced"), [("turn", True), ("interval", True), ("never", False)]
)
def test_creating_a_session_syncs_the_directory(fsync, synced) -> None:
    disk = SimulatedDisk()
    store = store_on(disk, fsync)
    store.create(ID)
    assert (NAME in disk.certain_names) is synced
    store.close()


@pytest.mark.parametrize("fsync", ["always", "turn", "interval", "never"])
def test_a_compaction_is_synced_under_every_policy(fsync) -> None:
    disk = SimulatedDisk()
    store = store_on(disk, fsync)
    log = store.create(ID)
    for event in events_of(3):
        log.write(event)
    log.compact(log.replay())
    assert len(stored(disk, certain=True)) == 3
    store.close()


def test_interval_syncs_what_was_written_within_the_interval() -> None:
    disk = SimulatedDisk()
    store = store_on(disk, "interval", fsync_interval_ms=1)
    log = store.create(ID)
    for event in events_of(2):
        log.write(event)
    eventually(lambda: syncs(disk))
    assert len(stored(disk, certain=True)) == 2
    log.write(TurnAppended(running()))
    eventually(lambda: len(stored(disk, certain=True)) == 3)
    store.close()


def test_interval_syncs_a_log_that_is_closed_before_its_time() -> None:
    disk = SimulatedDisk()
    store = store_on(disk, "interval", fsync_interval_ms=60_000)
    log = store.create(ID)
    log.write(TurnAppended(running()))
    log.close()
    store.close()
    assert len(stored(disk, certain=True)) == 1


def test_a_sync_of_the_interval_that_fails_makes_the_next_write_start_a_new_file(caplog) -> None:
    disk = SimulatedDisk()
    store = store_on(disk, "interval", fsync_interval_ms=1)
    log = store.create(ID)
    log.write(TurnAppended(running()))
    disk.faults = {disk.steps + 1: "broken"}
    eventually(lambda: syncs(disk))
    old = disk.names[NAME]
    turn = log.replay()[0]
    assert log.write(TurnReplaced(completed(turn))) is True
    assert disk.names[NAME] is not old
    assert [t.status for t in stored(disk, certain=True)] == [TurnStatus.COMPLETED]
    store.close()


# -- what the disk refuses -------------------------------------------------------------------------


def test_an_opening_that_cannot_be_written_is_refused_and_leaves_nothing(disk, log) -> None:
    for event in events_of(2):
        log.write(event)
    disk.faults = {disk.steps + 1: "full"}
    with pytest.raises(PersistenceError, match="No space left"):
        log.write(TurnAppended(running()))
    assert len(log.replay()) == 2
    assert len(stored(disk)) == 2
    assert log.write(TurnAppended(running())) is True


@pytest.mark.spec("storage.closing-kept")
def test_a_closing_that_cannot_be_written_is_written_with_the_next_turn(disk, log) -> None:
    turn = running()
    log.write(TurnAppended(turn))
    disk.broken_from = disk.steps + 1
    with pytest.raises(PersistenceError):
        log.write(TurnReplaced(completed(turn)))
    (kept,) = log.replay()
    assert (kept.status, kept.durable) == (TurnStatus.COMPLETED, False)
    assert [t.status for t in stored(disk)] == [TurnStatus.RUNNING]
    with pytest.raises(PersistenceError):
        log.write(TurnAppended(running()))
    disk.broken_from = None
    assert log.write(TurnAppended(running())) is True
    found = stored(disk, certain=True)
    assert [t.status for t in found] == [TurnStatus.COMPLETED, TurnStatus.RUNNING]
    assert found[0].output == "an answer"


def test_a_closing_that_found_no_room_is_written_with_the_next_turn_in_one_write(disk, log) -> None:
    turn = running()
    log.write(TurnAppended(turn))
    disk.faults = {disk.steps + 1: "full"}
    with pytest.raises(PersistenceError):
        log.write(TurnReplaced(completed(turn)))
    before = disk.did.count(("write", NAME))
    assert log.write(TurnAppended(running())) is True
    assert disk.did.count(("write", NAME)) == before + 1
    assert [t.status for t in stored(disk)] == [TurnStatus.COMPLETED, TurnStatus.RUNNING]


@pytest.mark.spec("storage.poison")
def test_a_closing_that_was_not_confirmed_is_kept_and_not_durable(disk, log) -> None:
    turn = running()
    log.write(TurnAppended(turn))
    disk.faults = {disk.steps + 2: "broken"}
    assert log.write(TurnReplaced(completed(turn))) is False
    (kept,) = log.replay()
    assert (kept.status, kept.durable) == (TurnStatus.COMPLETED, False)
    # A killed process loses nothing: the bytes are in the file.
    assert [t.status for t in stored(disk)] == [TurnStatus.COMPLETED]


@pytest.mark.spec("storage.poison")
def test_the_write_after_a_failed_sync_goes_into_a_new_file(disk, log) -> None:
    first, second = running(), running()
    log.write(TurnAppended(first))
    disk.faults = {disk.steps + 2: "broken"}
    assert log.write(TurnReplaced(completed(first))) is False
    old = disk.names[NAME]
    assert log.write(TurnAppended(second)) is True
    assert disk.names[NAME] is not old
    found = stored(disk, certain=True)
    assert [t.status for t in found] == [TurnStatus.COMPLETED, TurnStatus.RUNNING]
    assert log.write(TurnReplaced(completed(second))) is True


@pytest.mark.spec("storage.poison")
def test_only_a_rewrite_that_fails_refuses_the_next_turn(disk, log) -> None:
    turn = running()
    log.write(TurnAppended(turn))
    disk.broken_from = disk.steps + 2
    assert log.write(TurnReplaced(completed(turn))) is False
    for _ in range(3):
        with pytest.raises(PersistenceError):
            log.write(TurnAppended(running()))
    assert len(log.replay()) == 1
    disk.broken_from = None
    assert log.write(TurnAppended(running())) is True
    assert len(stored(disk, certain=True)) == 2


def test_an_opening_that_was_not_confirmed_is_saved_by_a_new_file(disk, log) -> None:
    disk.faults = {disk.steps + 2: "broken"}
    assert log.write(TurnAppended(running())) is True
    assert len(stored(disk, certain=True)) == 1


def test_an_opening_that_was_not_confirmed_and_not_saved_is_not_in_the_file(disk, log) -> None:
    disk.faults = dict.fromkeys(range(disk.steps + 2, disk.steps + 10), "broken")
    del disk.faults[disk.steps + 3]  # the file can still be cut back
    with pytest.raises(PersistenceError):
        log.write(TurnAppended(running()))
    assert log.replay() == []
    assert stored(disk) == []


def test_a_turn_that_is_no_text_is_refused_and_the_log_goes_on(disk, log) -> None:
    with pytest.raises(PersistenceError, match="characters"):
        log.write(TurnAppended(running("\ud800")))
    assert log.write(TurnAppended(running())) is True
    assert len(stored(disk)) == 1


def test_a_turn_over_the_limit_of_a_record_is_refused_and_the_log_goes_on(disk, log) -> None:
    with pytest.raises(PersistenceError, match="longer than a record holds"):
        log.write(TurnAppended(running("x" * (16 << 20))))
    assert log.write(TurnAppended(running())) is True


# -- replay ----------------------------------------------------------------------------------------


def test_a_history_that_returns_finds_the_turns_as_the_events_made_them(disk, log) -> None:
    events = events_of(3)
    open_turn = running()
    for event in [*events, TurnAppended(open_turn), TurnsInterrupted(AT)]:
        log.write(event)
    expected = turns_of([*events, TurnAppended(open_turn), TurnsInterrupted(AT)])
    assert log.replay() == expected == stored(disk)
    assert expected[-1].status is TurnStatus.INTERRUPTED
    assert expected[-1].finished_at == AT
    assert all(turn.durable for turn in expected)


def test_every_field_of_a_turn_comes_back(disk, log) -> None:
    turn = running('tab\tquote" nul\0 é ✓ 😀')
    events = [TurnAppended(turn), TurnReplaced(failed(turn))]
    for event in events:
        log.write(event)
    assert stored(disk) == turns_of(events)


# -- delete ----------------------------------------------------------------------------------------


def test_a_delete_is_on_the_disk_and_one_cut_short_can_be_repeated() -> None:
    others = [f"{ID}.events", f"{ID}.title", f"{ID}.log.cut-20261130T140000.000000Z"]
    files = dict.fromkeys([NAME, *others], b"")
    for step in range(1, 5):
        disk = SimulatedDisk(files)
        disk.broken_from = disk.steps + 1 + step  # the boot syncs the directory once
        store = store_on(disk)
        with pytest.raises(PersistenceError):
            store.delete(ID)
        assert [entry.session_id for entry in store.entries()] == [ID]
        disk.broken_from = None
        assert store.delete(ID) is True
        assert disk.certain_names == {}


# -- compaction ------------------------------------------------------------------------------------


def test_a_log_wants_compaction_at_its_size_and_again_at_half_as_much_more(disk) -> None:
    log = store_on(disk, compact_after_bytes=8000).create(ID)
    for event in events_of(4, 100):
        log.write(event)
    assert not log.wants_compaction()
    while not log.wants_compaction():
        for event in events_of(1, 100):
            log.write(event)
    before, after = log.compact(log.replay())
    assert before >= 8000 > after
    assert not log.wants_compaction()
    size = after
    while not log.wants_compaction():
        for event in events_of(1, 100):
            log.write(event)
        size = len(disk.names[NAME].seen)
    assert size >= max(8000, 1.5 * after)


def test_a_failed_compaction_is_not_tried_again_on_every_turn(disk) -> None:
    log = store_on(disk, compact_after_bytes=1000).create(ID)
    for event in events_of(3, 200):
        log.write(event)
    assert log.wants_compaction()
    disk.broken_from = disk.steps + 1
    with pytest.raises(PersistenceError):
        log.compact(log.replay())
    disk.broken_from = None
    assert not log.wants_compaction()
    assert len(stored(disk)) == 3


def test_a_compaction_to_fewer_turns_keeps_the_newest(disk, log) -> None:
    for event in events_of(4):
        log.write(event)
    kept = log.replay()[-2:]
    log.compact(kept)
    assert stored(disk) == kept == log.replay()


def test_a_compacted_file_that_would_not_shrink_is_left_alone(disk, log) -> None:
    for event in events_of(2):
        log.write(event)
    log.compact(log.replay())
    size = len(disk.names[NAME].seen)
    old = disk.names[NAME]
    assert log.compact(log.replay()) == (size, size)
    assert disk.names[NAME] is old


def test_a_compaction_writes_what_the_disk_refused_before(disk, log) -> None:
    turn = running()
    log.write(TurnAppended(turn))
    disk.faults = {disk.steps + 1: "full"}
    with pytest.raises(PersistenceError):
        log.write(TurnReplaced(completed(turn)))
    log.compact(log.replay())
    assert [t.status for t in stored(disk, certain=True)] == [TurnStatus.COMPLETED]
