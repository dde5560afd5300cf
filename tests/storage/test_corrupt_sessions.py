"""Damaged conversations: refused, untouched, repairable."""

from pathlib import Path

import orjson
import pytest

from mead.errors import AlreadyRunning, CorruptHistory
from mead.ids import new_session_id
from mead.storage.records import encode_record
from tests.storage.conversation import completed, events_of, names, plain, running, talk, turns_of


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
