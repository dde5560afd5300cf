"""Both stores keep the same contract; the files keep it across processes."""

import os
from datetime import UTC, datetime

import pytest

from mead.config.settings import StorageSettings
from mead.errors import AlreadyRunning, PersistenceError, SessionNotFound
from mead.ids import new_session_id
from mead.protocols import SessionStore, TurnAppended, TurnReplaced, TurnsInterrupted
from mead.storage.disk import RealDisk
from mead.storage.memory_store import MemoryStore
from mead.storage.session_store import FileStore
from mead.turn import TurnStatus
from tests.storage.conversation import AT, completed, names, plain, running, talk, turns_of
from tests.storage.held import HeldDisk, kill_while

NOT_IDS = [
    "",
    "..",
    "../../etc/passwd",
    "mead",
    "6F9619FF-8B86-4011-B42D-00CF4FC964FF",
    "6f9619ff-8b86-1011-b42d-00cf4fc964ff",
    "6f9619ff-8b86-4011-b42d-00cf4fc964ff\n",
    "6f9619ff-8b86-4011-b42d-00cf4fc964ff/../x",
    "6f9619ff8b864011b42d00cf4fc964ff",
]


@pytest.fixture(params=["files", "memory"])
def any_store(request) -> SessionStore:
    return MemoryStore() if request.param == "memory" else request.getfixturevalue("store")


# -- what both promise -----------------------------------------------------------------------------


def test_a_log_replays_the_turns_its_events_make(any_store) -> None:
    log = any_store.create(new_session_id())
    assert log.replay() == []
    events = talk(log)
    open_turn = running()
    log.write(TurnAppended(open_turn))
    log.write(TurnsInterrupted(AT))
    expected = turns_of([*events, TurnAppended(open_turn), TurnsInterrupted(AT)])
    assert plain(log.replay()) == plain(expected)
    assert plain(log.replay()) == plain(expected)
    log.close()


def test_a_compacted_log_replays_exactly_the_given_turns(any_store) -> None:
    log = any_store.create(new_session_id())
    talk(log)
    kept = log.replay()[1:]
    log.compact(kept)
    assert log.replay() == kept
    turn = running()
    log.write(TurnAppended(turn))
    assert plain(log.replay()) == plain([*kept, turn])
    log.close()


def test_a_replay_is_a_list_of_its_own(any_store) -> None:
    log = any_store.create(new_session_id())
    talk(log, 1)
    log.replay().clear()
    assert len(log.replay()) == 1
    log.close()


def test_an_unknown_session_is_not_found(any_store) -> None:
    for call in (any_store.open, any_store.load, any_store.repair):
        with pytest.raises(SessionNotFound):
            call(new_session_id())
    assert any_store.delete(new_session_id()) is False


def test_nothing_stored_is_an_empty_list(any_store) -> None:
    assert list(any_store.entries()) == []


def test_in_memory_nothing_is_durable_and_nothing_is_stored() -> None:
    store = MemoryStore()
    session_id = new_session_id()
    log = store.create(session_id)
    turn = running()
    assert log.write(TurnAppended(turn)) is False
    assert log.write(TurnReplaced(completed(turn))) is False
    assert not log.replay()[0].durable
    assert not log.wants_compaction()
    assert list(store.entries()) == []
    with pytest.raises(SessionNotFound):
        store.open(session_id)
    log.close()
    assert log.replay() == []


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.spec("storage.resume")
def test_a_conversation_comes_back_in_another_store(open_store) -> None:
    session_id = new_session_id()
    first = open_store()
    log = first.create(session_id)
    events = talk(log)
    log.close()
    first.close()
    second = open_store()
    assert second.load(session_id) == turns_of(events)
    log = second.open(session_id)
    assert log.replay() == turns_of(events)
    more = talk(log, 2)
    log.close()
    assert second.load(session_id) == turns_of([*events, *more])


def test_running_turns_come_back_running_for_the_history_to_interrupt(store) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    log.write(TurnAppended(running()))
    log.close()
    (turn,) = store.load(session_id)
    assert (turn.status, turn.durable) == (TurnStatus.RUNNING, False)


@pytest.mark.spec("storage.modes")
def test_files_and_directory_are_private(store, directory) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    talk(log)
    path = directory / f"{session_id}.log"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    log.compact(log.replay())
    assert path.stat().st_mode & 0o777 == 0o600
    log.close()
    path.write_bytes(path.read_bytes() + b"torn")
    store.open(session_id)
    (cut,) = directory.glob("*.cut-*")
    assert cut.stat().st_mode & 0o777 == 0o600


def test_a_directory_that_others_can_read_is_made_private_with_a_warning(
    open_store, directory, caplog
) -> None:
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    open_store()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert "0755" in caplog.text


def test_a_file_in_place_of_the_directory_is_refused(open_store, directory) -> None:
    directory.write_text("in the way")
    with pytest.raises(PersistenceError, match="not a directory"):
        open_store()


@pytest.mark.spec("storage.ids-and-paths")
@pytest.mark.parametrize("text", NOT_IDS)
def test_what_is_not_an_id_is_not_found_and_touches_no_path(store, directory, text) -> None:
    for call in (store.create, store.open, store.load, store.delete, store.repair):
        with pytest.raises(SessionNotFound):
            call(text)
    assert names(directory) == []


def test_a_load_changes_nothing(store, directory) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    events = talk(log)
    log.close()
    path = directory / f"{session_id}.log"
    torn = path.read_bytes() + b"torn"
    path.write_bytes(torn)
    assert store.load(session_id) == turns_of(events)
    assert path.read_bytes() == torn
    assert names(directory) == [path.name]


def test_a_delete_removes_every_file_of_the_session_and_no_other(store, directory) -> None:
    session_id, other = new_session_id(), new_session_id()
    for each in (session_id, other):
        log = store.create(each)
        talk(log, 1)
        log.close()
    ours = [
        ".log.tmp",
        ".log.cut-20261130T140000.000000Z",
        ".log.damaged-20261130T140000.000000Z",
        ".events",
        ".events.corrupt",
        ".events.tmp",
        ".title",
    ]
    for suffix in ours:
        (directory / f"{session_id}{suffix}").touch()
    (directory / "ledger.journal").touch()
    assert store.delete(session_id) is True
    assert names(directory) == sorted([f"{other}.log", "ledger.journal"])
    assert store.delete(session_id) is False
    with pytest.raises(SessionNotFound):
        store.load(session_id)


def test_a_delete_removes_a_draft_that_gets_its_name_meanwhile(directory) -> None:
    class Naming(RealDisk):
        def listing(self, directory):
            found = super().listing(directory)
            for entry in found:
                if entry.name.endswith(".tmp"):
                    (directory / entry.name).rename(directory / entry.name.removesuffix(".tmp"))
            return found

    session_id = new_session_id()
    directory.mkdir()
    store = FileStore(StorageSettings(directory=directory), disk=Naming())
    store.create(session_id).close()
    (directory / f"{session_id}.title.tmp").touch()
    assert store.delete(session_id) is True
    assert names(directory) == []
    store.close()


def test_a_delete_finds_what_is_left_without_a_log(store, directory) -> None:
    session_id = new_session_id()
    (directory / f"{session_id}.events").touch()
    assert store.delete(session_id) is True
    assert names(directory) == []


@pytest.mark.spec("storage.listing")
def test_sessions_are_listed_newest_first_from_names_and_times_alone(store, directory) -> None:
    ids = [new_session_id() for _ in range(4)]
    for age, session_id in enumerate(ids):
        path = directory / f"{session_id}.log"
        path.write_bytes(b"not a log at all")
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    for stranger in (
        "ledger.journal",
        "mead.lock",
        f"{ids[0]}.events",
        f"{ids[0]}.log.cut-x",
        f"{ids[0].upper()}.log",
        "notes.log",
    ):
        (directory / stranger).touch()
    listed = list(store.entries())
    assert [entry.session_id for entry in listed] == ids
    assert listed[0].updated_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert not any(entry.running for entry in listed)


def test_a_leftover_of_a_rewrite_is_removed_at_boot(open_store, directory) -> None:
    session_id = new_session_id()
    store = open_store()
    log = store.create(session_id)
    events = talk(log)
    log.close()
    (directory / f"{session_id}.log.tmp").write_bytes(b"half a log")
    (directory / "someone-elses.tmp").touch()
    again = open_store()
    assert names(directory) == sorted([f"{session_id}.log", "someone-elses.tmp"])
    assert again.load(session_id) == turns_of(events)


def test_a_session_that_is_stored_is_not_created_again(store) -> None:
    session_id = new_session_id()
    store.create(session_id).close()
    with pytest.raises(PersistenceError):
        store.create(session_id)


def test_a_log_that_is_open_is_not_opened_again_before_it_is_closed(store) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    events = talk(log)
    with pytest.raises(AlreadyRunning):
        store.open(session_id)
    log.close()
    log = store.open(session_id)
    assert log.replay() == turns_of(events)
    assert store.delete(session_id) is True


def test_a_history_killed_in_a_write_finds_on_return_what_the_file_holds(directory) -> None:
    directory.mkdir()
    disk = HeldDisk()
    store = FileStore(StorageSettings(directory=directory), disk=disk)
    log = store.create(new_session_id())
    events = talk(log, 2)
    turn = running("its write was under way")
    kill_while(disk, lambda: log.write(TurnAppended(turn)))
    assert plain(log.replay()) == plain(turns_of([*events, TurnAppended(turn)]))
    log.write(TurnReplaced(completed(turn)))
    assert log.replay()[-1].status is TurnStatus.COMPLETED
    store.close()
    disk.close()


def test_closing_the_store_closes_what_is_open(open_store) -> None:
    store = open_store()
    for _ in range(3):
        talk(store.create(new_session_id()), 1)
    store.close()  # the leak check looks for descriptors
