"""RecordLog: append, undo, sync, rewrite and read, on a disk that fails when it is told to."""

import random
from typing import Any

import orjson
import pytest

from mead.errors import CorruptHistory, PersistenceError
from mead.storage.faults import NotDurable
from mead.storage.log import RecordLog
from mead.storage.records import HEADER_BYTES, MAX_PAYLOAD_BYTES
from tests.storage.conversation import read_all
from tests.storage.numbered import PATH, content, event, numbers, opened
from tests.storage.simulated import SECTOR, SimulatedDisk


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def log(disk) -> RecordLog:
    return RecordLog.create(disk, PATH, sync=True)


# -- append ----------------------------------------------------------------------------------------


def test_what_is_appended_is_there_when_the_log_is_opened(disk, log) -> None:
    offsets = [log.append(event(number), sync=number % 2 == 0) for number in range(6)]
    assert offsets[0] == 0
    assert offsets == sorted(set(offsets))
    log.close()
    again, seen = opened(disk)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert again.size == log.size == len(content(disk))
    again.append(event(6), sync=True)
    assert numbers(content(disk)) == [0, 1, 2, 3, 4, 5, 6]


def test_a_record_names_the_offset_that_was_synced_when_it_was_written(disk, log) -> None:
    log.append(event(0), sync=False)
    assert log.synced == 0
    second = log.append(event(1), sync=True)
    assert log.synced == log.size
    third = log.append(event(2), sync=False)
    data = content(disk)
    assert orjson.loads(data[second + 12 : third])["s"] == 0
    assert orjson.loads(data[third + 12 :])["s"] == third


def test_several_records_are_one_write(disk, log) -> None:
    before = disk.steps
    assert log.append_many([event(0), event(1), event(2)], sync=False) == 0
    assert disk.steps == before + 1
    assert numbers(content(disk)) == [0, 1, 2]


def test_an_event_over_the_limit_is_refused_and_the_log_goes_on(disk, log) -> None:
    for sync in (False, True):
        with pytest.raises(PersistenceError, match="limit"):
            log.append(b'"' + b"x" * MAX_PAYLOAD_BYTES + b'"', sync=sync)
    log.append(event(1), sync=False)
    assert numbers(content(disk)) == [1]


@pytest.mark.spec("storage.rollback")
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("fault", ["short", "full", "broken"])
def test_a_write_that_fails_leaves_the_file_as_long_as_before(disk, log, fault, sync) -> None:
    log.append(event(1), sync=True)
    before = content(disk)
    disk.faults = {disk.steps + 1: fault}
    with pytest.raises(PersistenceError):
        log.append(event(2), sync=sync)
    assert content(disk) == before
    assert not log.poisoned
    assert log.append(event(3), sync=sync) == len(before)
    assert numbers(content(disk)) == [1, 3]


def test_the_error_says_what_the_disk_said_and_what_to_do_and_names_no_path(disk, log) -> None:
    disk.faults = {disk.steps + 1: "full"}
    with pytest.raises(PersistenceError) as refused:
        log.append(event(1), sync=True)
    assert "No space left on device" in refused.value.message
    assert "free some space" in refused.value.message
    assert "simulated" not in refused.value.message


def test_a_short_write_is_an_error_that_says_so(disk, log) -> None:
    disk.faults = {disk.steps + 1: "short"}
    with pytest.raises(PersistenceError, match=r"only \d+ of \d+ bytes"):
        log.append(event(1), sync=False)


# -- poison ----------------------------------------------------------------------------------------


@pytest.mark.spec("storage.poison")
def test_a_failed_sync_poisons_the_log_until_it_is_rewritten(disk, log) -> None:
    log.append(event(1), sync=True)
    disk.faults = {disk.steps + 2: "broken"}
    with pytest.raises(NotDurable):
        log.append(event(2), sync=True)
    assert log.poisoned
    assert numbers(content(disk)) == [1]
    before = disk.steps
    for sync in (False, True):
        with pytest.raises(PersistenceError):
            log.append(event(3), sync=sync)
    with pytest.raises(PersistenceError):
        log.sync()
    assert disk.steps == before
    old = disk.names["a.log"]
    log.rewrite([event(1), event(3)])
    assert not log.poisoned
    assert disk.names["a.log"] is not old
    log.append(event(4), sync=True)
    assert numbers(content(disk)) == [1, 3, 4]


def test_a_record_whose_sync_failed_stays_when_its_writer_wants_that(disk, log) -> None:
    disk.faults = {disk.steps + 2: "broken"}
    with pytest.raises(NotDurable):
        log.append_many([event(1)], sync=True, keep_unsynced=True)
    assert log.poisoned
    assert numbers(content(disk)) == [1]
    assert log.size == len(content(disk))


def test_an_undo_that_fails_poisons_the_log(disk, log) -> None:
    log.append(event(1), sync=True)
    disk.faults = {disk.steps + 1: "short", disk.steps + 2: "broken"}
    with pytest.raises(PersistenceError):
        log.append(event(2), sync=False)
    assert log.poisoned
    log.rewrite([event(1)])
    log.append(event(2), sync=True)
    assert numbers(content(disk)) == [1, 2]


def test_an_undo_is_synced_before_anything_else_is_written(disk, log) -> None:
    disk.faults = {disk.steps + 1: "short", disk.steps + 3: "broken"}
    with pytest.raises(PersistenceError):
        log.append(event(1), sync=False)
    assert log.poisoned


def test_a_sync_in_the_background_that_fails_poisons_the_log(disk, log) -> None:
    log.append(event(1), sync=False)
    disk.faults = {disk.steps + 1: "broken"}
    with pytest.raises(NotDurable):
        log.sync()
    assert log.poisoned


def test_a_sync_with_nothing_to_sync_does_not_touch_the_disk(disk, log) -> None:
    log.append(event(1), sync=True)
    before = disk.steps
    log.sync()
    assert disk.steps == before


# -- rewrite ---------------------------------------------------------------------------------------


def test_a_rewritten_log_holds_exactly_the_given_events(disk, log) -> None:
    for number in range(10):
        log.append(event(number), sync=True)
    before = log.size
    assert log.rewrite([event("a"), event("b")]) == (before, log.size)
    assert numbers(content(disk)) == ["a", "b"]
    assert list(disk.names) == ["a.log"]
    log.append(event("c"), sync=True)
    again, seen = opened(disk)
    assert seen == ["a", "b", "c"]
    assert again.synced > 0


def test_damage_in_a_rewritten_log_is_corrupt_although_nothing_was_appended_since(
    disk, log
) -> None:
    log.rewrite([event(number) for number in range(5)])
    damaged = bytearray(content(disk))
    damaged[20] ^= 1
    assert read_all(bytes(damaged))[1].corrupt


def test_a_log_that_would_not_shrink_is_left_alone(disk, log) -> None:
    log.append(event(1), sync=True)
    old = disk.names["a.log"]
    assert log.rewrite([event(1)], only_if_smaller=True) == (log.size, log.size)
    assert disk.names == {"a.log": old}
    log.append(event(2), sync=True)
    assert numbers(content(disk)) == [1, 2]


@pytest.mark.parametrize("fault", ["full", "broken"])
def test_a_rewrite_that_fails_at_any_step_leaves_the_old_log_or_the_new_one(fault) -> None:
    for step in range(1, 6):  # create, write, sync, rename, sync the directory
        disk = SimulatedDisk()
        log = RecordLog.create(disk, PATH, sync=True)
        for number in range(3):
            log.append(event(number), sync=True)
        disk.faults = {disk.steps + step: fault}
        try:
            log.rewrite([event("new")])
            new = True
        except PersistenceError:
            new = log.poisoned
        assert numbers(content(disk)) == (["new"] if new else [0, 1, 2])
        if log.poisoned:
            log.rewrite([event("new")])
        log.append(event("more"), sync=True)
        assert numbers(content(disk)) == [*(["new"] if new else [0, 1, 2]), "more"]
        assert list(disk.names) == ["a.log"]


def test_a_rewrite_takes_over_the_leftover_of_an_earlier_one(disk, log) -> None:
    disk.open(PATH.with_name("a.log.tmp"), "create").write(b"leftover")
    log.rewrite([event(1)])
    assert numbers(content(disk)) == [1]


# -- open ------------------------------------------------------------------------------------------


def test_a_torn_tail_is_kept_beside_the_log_and_then_cut(disk, log, caplog) -> None:
    log.append(event(1), sync=True)
    whole = content(disk)
    log.append(event(2), sync=False)
    torn = content(disk)[:-3]
    disk = SimulatedDisk({"a.log": torn})
    again, seen = opened(disk)
    assert seen == [1]
    assert content(disk) == whole
    (kept,) = [name for name in disk.names if name.startswith("a.log.cut-")]
    assert content(disk, kept) == torn[len(whole) :]
    assert disk.certain_names[kept].certain == torn[len(whole) :]
    (warning,) = caplog.records
    assert f"{len(torn) - len(whole)} bytes" in warning.message
    assert "/simulated" not in warning.message
    again.append(event(3), sync=True)
    assert numbers(content(disk)) == [1, 3]


def sector_long(number: int, synced_digits: int = 1) -> bytes:
    """An event whose record fills one sector, when its other numbers have one digit."""
    return event(number).ljust(SECTOR - HEADER_BYTES - 23 - synced_digits)


def test_what_was_cut_never_comes_back_behind_a_new_record() -> None:
    """Unsynced records, one of them a hole: the cut is on the disk before anything is written."""
    disk = SimulatedDisk()
    log = RecordLog.create(disk, PATH, sync=False)
    offsets = [log.append(sector_long(number), sync=False) for number in range(4)]
    assert offsets == [0, SECTOR, 2 * SECTOR, 3 * SECTOR]
    torn = bytearray(content(disk))
    torn[SECTOR + 20] ^= 1
    disk = SimulatedDisk({"a.log": bytes(torn)})
    log, seen = opened(disk)
    assert seen == [0]
    log.append(sector_long(9, synced_digits=3), sync=False)
    assert log.size == 2 * SECTOR
    states = list(disk.crash_states("a.log", 1000, random.Random(1)))
    assert len(states) > 1
    for files in states:
        assert opened(SimulatedDisk(files))[1] in ([0], [0, 9])


def test_bytes_that_cannot_be_kept_are_not_cut(disk, log) -> None:
    log.append(event(1), sync=True)
    torn = content(disk) + b"torn"
    for step in range(1, 5):
        disk = SimulatedDisk({"a.log": torn})
        disk.faults = {step: "full"}
        with pytest.raises(PersistenceError):
            opened(disk)
        assert content(disk) == torn


def test_a_corrupt_log_is_refused_and_untouched(disk, log) -> None:
    for number in range(3):
        log.append(event(number), sync=True)
    damaged = bytearray(content(disk))
    damaged[15] ^= 1
    disk = SimulatedDisk({"a.log": bytes(damaged)})
    with pytest.raises(CorruptHistory) as refused:
        opened(disk)
    assert content(disk) == damaged
    assert disk.steps == 0
    assert "simulated" not in refused.value.message


def test_a_log_whose_reader_refuses_an_event_is_untouched(disk, log) -> None:
    log.append(event(1), sync=True)
    disk = SimulatedDisk({"a.log": content(disk) + b"torn"})

    def refuse(_: object) -> None:
        raise CorruptHistory

    with pytest.raises(CorruptHistory):
        RecordLog.open(disk, PATH, refuse)
    assert disk.steps == 0


def test_a_log_that_is_not_there_is_not_made_by_opening_it(disk) -> None:
    with pytest.raises(FileNotFoundError):
        opened(disk)
    assert disk.names == {}


def test_a_log_is_not_created_over_another_one(disk, log) -> None:
    with pytest.raises(PersistenceError):
        RecordLog.create(disk, PATH, sync=True)


def test_a_log_whose_name_could_not_be_synced_is_not_created(disk) -> None:
    disk.faults = {2: "broken"}
    with pytest.raises(PersistenceError):
        RecordLog.create(disk, PATH, sync=True)
    assert disk.names == {}


def test_a_log_reads_itself_again_without_what_was_taken_back(disk, log) -> None:
    log.append(event(1), sync=True)
    disk.faults = {disk.steps + 1: "short", disk.steps + 2: "broken"}
    with pytest.raises(PersistenceError):
        log.append(event(2), sync=False)
    assert len(content(disk)) > log.size
    seen: list[Any] = []
    log.read(lambda each: seen.append(each["number"]))
    assert seen == [1]
