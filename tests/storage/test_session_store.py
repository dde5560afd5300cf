"""Both stores keep the same contract; the files keep it across processes."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mead.config.settings import StorageSettings
from mead.errors import AlreadyRunning, CorruptHistory, PersistenceError, SessionNotFound
from mead.ids import new_session_id
from mead.protocols import SessionStore, TurnAppended, TurnLog, TurnReplaced, TurnsInterrupted
from mead.storage.memory_store import MemoryStore
from mead.storage.session_store import FileStore
from mead.turn import TurnStatus
from tests.storage.conversation import AT, completed, events_of, running, turns_of
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


@pytest.fixture
def directory(tmp_path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def open_store(directory):
    stores = []

    def make(**more) -> FileStore:
        stores.append(FileStore(StorageSettings(directory=directory, **more)))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store) -> FileStore:
    return open_store()


@pytest.fixture(params=["files", "memory"])
def any_store(request) -> SessionStore:
    return MemoryStore() if request.param == "memory" else request.getfixturevalue("store")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def talk(log: TurnLog, count: int = 3) -> list:
    events = events_of(count)
    for event in events:
        log.write(event)
    return events


# -- what both promise -----------------------------------------------------------------------------


def plain(turns):
    return [(t.id, t.input, t.output, t.status, t.finished_at, t.error) for t in turns]


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


def test_a_log_left_open_by_a_killed_owner_is_taken_over(store) -> None:
    session_id = new_session_id()
    events = talk(store.create(session_id))
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


# -- damage ----------------------------------------------------------------------------------------


@pytest.fixture
def damaged(store, directory):
    """A stored conversation of three turns, damaged in its second."""
    session_id = new_session_id()
    log = store.create(session_id)
    events = talk(log)
    log.close()
    path = directory / f"{session_id}.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"prompt 1")] ^= 1
    path.write_bytes(data)
    return session_id, path, events


@pytest.mark.spec("storage.corrupt")
def test_a_damaged_conversation_is_refused_and_its_file_untouched(
    store, directory, damaged
) -> None:
    session_id, path, _ = damaged
    before = path.read_bytes()
    for call in (store.open, store.load):
        with pytest.raises(CorruptHistory) as refused:
            call(session_id)
        assert session_id in refused.value.message
        assert str(directory) not in refused.value.message
        assert "prompt" not in refused.value.message
    assert path.read_bytes() == before
    assert names(directory) == [path.name]
    assert [entry.session_id for entry in store.entries()] == [session_id]


@pytest.mark.spec("storage.repair")
def test_a_repair_keeps_the_valid_beginning_and_the_whole_old_file(
    store, directory, damaged
) -> None:
    session_id, path, events = damaged
    before = path.read_bytes()
    report = store.repair(session_id)
    assert report.turns == 1
    assert report.damage is not None
    assert report.bytes_before == len(before)
    assert report.bytes_after == path.stat().st_size
    assert store.load(session_id) == turns_of(events[:2])
    (kept,) = directory.glob("*.damaged-*")
    assert kept.read_bytes() == before
    assert kept.stat().st_mode & 0o777 == 0o600
    log = store.open(session_id)
    more = talk(log, 1)
    assert log.replay() == turns_of([*events[:2], *more])


def test_a_repair_of_a_whole_conversation_does_nothing(store, directory) -> None:
    session_id = new_session_id()
    log = store.create(session_id)
    talk(log)
    with pytest.raises(AlreadyRunning):
        store.repair(session_id)
    log.close()
    path = directory / f"{session_id}.log"
    before = path.read_bytes()
    report = store.repair(session_id)
    assert (report.damage, report.turns) == (None, 3)
    assert path.read_bytes() == before
    assert names(directory) == [path.name]


def write_events(path: Path, *events: dict) -> None:
    """A log whose frames are whole, whatever the events mean."""
    import orjson

    from mead.storage.records import encode_record

    data = b""
    for number, event in enumerate(events, start=1):
        data += encode_record(number, len(data), orjson.dumps(event))
    path.write_bytes(data)


TURN = running().encode()
OTHER = completed(running()).encode()


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "append", "turn": TURN}, {"type": "replace_last", "turn": OTHER}],
        [{"type": "replace_last", "turn": OTHER}],
        [{"type": "append", "turn": TURN}, {"type": "append", "turn": TURN}],
        [{"type": "append", "turn": TURN}, {"type": "unheard-of"}],
        [{"type": "append", "turn": TURN}, "interrupt"],
        [{"type": "append", "turn": TURN}, {"type": "interrupt", "at": "yesterday"}],
        [{"type": "append", "turn": TURN}, {"type": "append"}],
        [{"type": "append", "turn": TURN}, {"type": "append", "turn": {"id": "x"}}],
        [{"type": "append", "turn": TURN}, {"type": "append", "turn": {**OTHER, "status": "?"}}],
        [{"type": "append", "turn": TURN}, {"type": "append", "turn": {**OTHER, "usage": 7}}],
        [{"type": "append", "turn": TURN}, {"type": "append", "turn": {**OTHER, "id": ["x"]}}],
    ],
    ids=lambda events: str(len(events)),
)
def test_whole_records_that_make_no_conversation_are_corrupt_and_repairable(
    store, directory, events
) -> None:
    session_id = new_session_id()
    path = directory / f"{session_id}.log"
    write_events(path, *events)
    for call in (store.open, store.load):
        with pytest.raises(CorruptHistory):
            call(session_id)
    report = store.repair(session_id)
    assert report.damage is not None
    assert [turn.id for turn in store.load(session_id)] == [TURN["id"]] * (len(events) - 1)


@pytest.mark.timeout(60)
def test_every_cut_and_every_flip_of_a_real_conversation_gives_its_beginning_or_is_corrupt(
    store, directory
) -> None:
    """The whole way, from the file to the turns; the pure half is in test_damage."""
    session_id = new_session_id()
    log = store.create(session_id)
    events = events_of(2, 5)
    for event in events:
        log.write(event)
    log.close()
    path = directory / f"{session_id}.log"
    whole = path.read_bytes()
    beginnings = [plain(turns_of(events[:count])) for count in range(len(events) + 1)]

    def judge(data: bytes) -> str:
        path.write_bytes(data)
        try:
            turns = store.load(session_id)
        except CorruptHistory:
            return "corrupt"
        assert plain(turns) in beginnings
        return "a beginning"

    assert {judge(whole[:size]) for size in range(len(whole))} == {"a beginning"}
    seen = set()
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        seen.add(judge(bytes(flipped)))
    assert seen == {"corrupt", "a beginning"}
