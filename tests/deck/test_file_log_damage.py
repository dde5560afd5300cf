"""What a crash or damage leaves of an event log, and under which id it goes on."""

import orjson
import pytest

from mead.deck.file_log import FileEventLog
from mead.ids import new_session_id
from tests.deck.log_files import ROOM, opened, replayed, write
from tests.deck.story import Story, shape


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


AT = "2026-11-30T14:00:00.000Z"
LEVEL = {"level": "read_only"}
PROMPT = {"client_message_id": "m", "turn_id": "t", "route": None, "origin": "deck"}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "prompt.accepted"},
        {"type": "no.such", "sequence": 1, "at": AT, "payload": {}},
        {"type": "turn.started", "sequence": 1, "at": AT, "payload": {"turn_id": "x"}},
        {"type": "policy.updated", "sequence": 2, "at": AT, "payload": LEVEL},
        {"type": "policy.updated", "sequence": 1, "at": "", "payload": LEVEL},
        {"type": "policy.updated", "sequence": 1, "at": AT.rstrip("Z"), "payload": LEVEL},
        {"type": "prompt.accepted", "sequence": 1, "at": AT, "payload": {**PROMPT, "text": 5}},
        {"type": "text.delta", "sequence": 1, "at": AT, "payload": {"turn_id": "t", "text": None}},
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
