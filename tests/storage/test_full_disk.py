"""A disk that is really full: a small tmpfs."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mead.config.settings import StorageSettings
from mead.errors import CorruptHistory, PersistenceError
from mead.ids import new_session_id
from mead.protocols import TurnAppended, TurnLog, TurnReplaced
from mead.storage.disk import RealDisk
from mead.storage.lock import acquire
from mead.storage.log import RecordLog
from mead.storage.session_store import FileStore
from mead.turn import Turn
from tests.storage.conversation import completed, events_of, running, turn_log_on

KIB = 1024


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 256 KiB, half of it taken by a file `filler`."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    directory = tmp_path / "small"
    directory.mkdir()
    options = "size=256k,mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(directory)], check=True)
    try:
        (directory / "filler").write_bytes(bytes(128 * KIB))
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.fixture
def store(small_disk) -> Iterator[FileStore]:
    store = FileStore(StorageSettings(directory=small_disk, fsync="turn"))
    yield store
    store.close()


def fill(log: TurnLog, size: int = 1500) -> tuple[list[Turn], str]:
    """Talk until the disk refuses an opening: what was acknowledged, and the refusal."""
    acknowledged: list[Turn] = []
    for _ in range(1000):
        turn = running("p" * size)
        try:
            log.write(TurnAppended(turn))
        except PersistenceError as error:
            return acknowledged, error.message
        acknowledged.append(turn)
        try:
            ended = completed(turn, "a" * size)
            log.write(TurnReplaced(ended))
            acknowledged[-1] = ended
        except PersistenceError:
            pass
    raise AssertionError("the disk never refused")


def ids(turns: list[Turn]) -> list[str]:
    return [turn.id for turn in turns]


@pytest.mark.spec("storage.full-disk")
@pytest.mark.parametrize("size", [10, 1500, 9000])
def test_a_full_disk_refuses_turns_keeps_the_others_and_goes_on_once_there_is_room(
    store, small_disk, size
) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    acknowledged, refusal = fill(log, size)
    assert "No space left on device" in refusal or "bytes were written" in refusal
    assert "free some space" in refusal
    assert str(small_disk) not in refusal
    assert ids(store.load(session_id)) == ids(log.replay()) == ids(acknowledged)
    with pytest.raises(PersistenceError):
        log.write(TurnAppended(running("p" * size)))
    (small_disk / "filler").unlink()
    more = running()
    assert log.write(TurnAppended(more)) is True
    assert log.write(TurnReplaced(completed(more))) is True
    found = store.load(session_id)
    assert ids(found) == [*ids(acknowledged), more.id]
    # What could not be closed while the disk was full was closed with the next write.
    assert [(t.status, t.output) for t in found] == [(t.status, t.output) for t in log.replay()]
    assert {turn.status for turn in found} == {"completed"}


def test_a_compaction_without_room_leaves_the_old_file(store) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    fill(log)
    before = store.load(session_id)
    with pytest.raises(PersistenceError, match="free some space"):
        log.compact(log.replay())
    assert ids(store.load(session_id)) == ids(before)


def test_a_full_disk_still_lets_a_server_start_and_conversations_be_read(store, small_disk) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    acknowledged, _ = fill(log, 100)
    log.close()
    with acquire(small_disk):
        again = FileStore(StorageSettings(directory=small_disk))
        assert ids(again.load(session_id)) == ids(acknowledged)
        assert ids(again.open(session_id).replay()) == ids(acknowledged)
        again.close()


class UndoesNothing(RecordLog):
    """A log that leaves the half of a record where it is."""

    __slots__ = ()

    def _undo(self) -> None:
        pass


def test_the_full_disk_shows_a_log_that_does_not_undo(small_disk) -> None:
    session_id = new_session_id()
    disk = RealDisk()
    records = UndoesNothing.create(disk, small_disk / f"{session_id}.log", sync=True)
    log = turn_log_on(records, session_id)
    fill(log)
    (small_disk / "filler").unlink()
    for event in events_of(2):
        log.write(event)
    log.shut()
    disk.close()
    store = FileStore(StorageSettings(directory=small_disk))
    with pytest.raises(CorruptHistory):
        store.load(session_id)
    store.close()
