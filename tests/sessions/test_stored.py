"""Conversations with a storage directory: what comes back, and who may have it."""

import os
import stat
from pathlib import Path
from typing import Any

import gevent
import pytest

from mead import Mead, errors
from mead.actors.actor import ActorRef
from mead.turn import TurnStatus
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually
from tests.sessions.conftest import statuses, stored_in


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    return stored_in(tmp_path / "var")


def test_a_stopped_conversation_is_read_and_resumed(mead: Mead) -> None:
    session_id = mead.start_session(handler="puppet")
    receipt = mead.submit(session_id, "hello")
    assert receipt.turn.durable
    mead.stop_session(session_id)
    assert mead.history(session_id) == [receipt.turn]
    assert mead.resume_session(session_id, handler="puppet") == session_id
    assert mead.submit_turn(session_id, "again") == "again"
    assert [turn.input for turn in mead.history(session_id)] == ["hello", "again"]


def test_another_process_lifetime_finds_everything(tree: dict[str, Any]) -> None:
    with Mead(tree) as first:
        ids = [first.start_session() for _ in range(3)]
        for session_id in ids:
            first.submit_turn(session_id, f"for {session_id}")
        before = {session_id: first.history(session_id) for session_id in ids}
    with Mead(tree) as second:
        assert {entry.session_id for entry in second.list_sessions()} == set(ids)
        assert not any(entry.running for entry in second.list_sessions())
        for session_id in ids:
            assert second.history(session_id) == before[session_id]
            second.resume_session(session_id)
        assert all(entry.running for entry in second.list_sessions())


def test_the_list_is_newest_first(mead: Mead) -> None:
    ids = [mead.start_session(handler="puppet") for _ in range(4)]
    for session_id in (ids[2], ids[0], ids[3], ids[1]):
        mead.submit_turn(session_id, "x")
        gevent.sleep(0.02)  # a file's time is all that orders them
    assert [entry.session_id for entry in mead.list_sessions()] == [ids[1], ids[3], ids[0], ids[2]]


def test_a_stop_in_the_middle_of_a_turn_leaves_it_interrupted(mead: Mead, puppet: Puppet) -> None:
    session_id = mead.start_session(handler="puppet")
    caller = gevent.spawn(mead.submit_turn, session_id, "hold")
    assert eventually(lambda: puppet.started)
    mead.stop_session(session_id)
    with pytest.raises(errors.SessionStopped):
        caller.get(timeout=5)
    (turn,) = mead.history(session_id)
    assert turn.status is TurnStatus.INTERRUPTED
    mead.resume_session(session_id, handler="puppet")
    assert statuses(mead, session_id) == ["interrupted"]


def test_a_resume_of_what_runs_and_of_what_is_not_there(mead: Mead) -> None:
    session_id = mead.start_session()
    with pytest.raises(errors.AlreadyRunning):
        mead.resume_session(session_id)
    with pytest.raises(errors.SessionNotFound):
        mead.resume_session("0a0b0c0d-0000-4000-8000-000000000001")


def test_without_storage_nothing_is_kept() -> None:
    with Mead() as mead:
        session_id = mead.start_session()
        mead.submit_turn(session_id, "x")
        assert mead.list_sessions() == []
        with pytest.raises(errors.SessionNotFound):
            mead.compact_session(session_id)
        mead.stop_session(session_id)
        with pytest.raises(errors.SessionNotFound):
            mead.resume_session(session_id)
        with pytest.raises(errors.SessionNotFound):
            mead.history(session_id)


def test_a_delete_removes_every_file_of_the_id(mead: Mead, tmp_path: Path) -> None:
    session_id, other = mead.start_session(), mead.start_session()
    directory = tmp_path / "var"
    for suffix in (".log.cut-1", ".log.damaged-1", ".events", ".title"):
        (directory / f"{session_id}{suffix}").touch()
    mead.delete_session(session_id)
    assert [path.name for path in directory.glob(f"{session_id}*")] == []
    assert mead.history(other) == []
    for call in (mead.history, mead.delete_session, mead.resume_session):
        with pytest.raises(errors.SessionNotFound):
            call(session_id)


def test_resume_stop_and_delete_of_one_id_are_serialised(mead: Mead) -> None:
    session_id = mead.start_session()
    mead.submit_turn(session_id, "x")

    def attempt(call: Any) -> str:
        try:
            call(session_id)
        except errors.MeadError as error:
            return error.code
        return "ok"

    calls = [mead.stop_session, mead.resume_session] * 10
    done = [gevent.spawn(attempt, call) for call in calls]
    codes = [each.get(timeout=10) for each in done]
    assert set(codes) <= {"ok", "not_found", "already_running"}
    assert attempt(mead.delete_session) == "ok"
    assert mead.list_sessions() == []


def test_a_compaction_that_races_a_resume_loses_nothing(tree: dict[str, Any]) -> None:
    with Mead(tree) as mead:
        for number in range(15):
            session_id = mead.start_session()
            mead.submit_turn(session_id, "before")
            mead.stop_session(session_id)

            def talk(session_id: str = session_id) -> list[str]:
                mead.resume_session(session_id)
                return [mead.submit(session_id, f"after {n}").turn.id for n in range(6)]

            talking = gevent.spawn(talk)
            gevent.sleep(number % 4 / 1000)
            compacting = gevent.spawn(mead.compact_session, session_id)
            acknowledged = talking.get(timeout=10)
            compacting.get(timeout=10)
            mead.stop_session(session_id)
            assert [turn.id for turn in mead.history(session_id)][1:] == acknowledged


@pytest.mark.parametrize("call", ["stop_session", "delete_session"])
def test_a_handler_may_stop_its_own_session(mead: Mead, call: str) -> None:
    class Leaving:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            getattr(mead, call)(context.session_id)
            return "unreached"

    session_id = mead.start_session(handler=Leaving())
    with pytest.raises(errors.SessionStopped):
        mead.submit_turn(session_id, "x")
    assert eventually(lambda: mead.status()["sessions"] == 0)
    if call == "stop_session":
        assert mead.resume_session(session_id) == session_id
    else:
        assert eventually(lambda: mead.list_sessions() == [])


def test_a_start_whose_caller_gives_up_leaves_nothing(mead: Mead) -> None:
    starts = []
    for number in range(60):
        start = gevent.spawn(mead.start_session)
        gevent.sleep(number % 10 / 5000)
        start.kill()
        starts.append(start)
    known = {start.value for start in starts if isinstance(start.value, str)}
    assert len(known) < 60  # some were cut off
    assert eventually(lambda: {entry.session_id for entry in mead.list_sessions()} == known)
    assert mead.status()["sessions"] == len(known)


def test_starts_and_stops_at_once_come_one_after_another(tree: dict[str, Any]) -> None:
    mead = Mead(tree)
    starts = [gevent.spawn(mead.start) for _ in range(3)]
    stop = gevent.spawn(mead.stop)
    gevent.joinall([*starts, stop], timeout=10, raise_error=True)
    mead.stop()
    with Mead(tree) as other:
        assert other.status()["ready"]


def test_a_crashed_history_is_read_again_from_its_file(mead: Mead) -> None:
    session_id = mead.start_session(handler="puppet")
    before = mead.submit(session_id, "before").turn
    pair = mead._parts.tree.registry.lookup(session_id)
    assert pair is not None
    history = pair.history
    assert isinstance(history, ActorRef)
    history.kill()
    assert eventually(lambda: pair.history not in (None, history) and pair.server is not None)
    assert mead.history(session_id) == [before]
    assert mead.submit_turn(session_id, "after") == "after"


def test_files_and_directory_are_private(mead: Mead, tmp_path: Path) -> None:
    mead.start_session()
    directory = tmp_path / "var"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_a_second_mead_on_the_directory_refuses_and_names_the_holder(
    mead: Mead, tree: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(errors.StorageLocked) as locked:
        Mead(tree).start()
    assert str(tmp_path / "var") in locked.value.message
    assert f"pid {os.getpid()}" in locked.value.message


def test_a_second_mead_waits_for_the_first_to_leave(mead: Mead, tree: dict[str, Any]) -> None:
    second = Mead(tree)
    starting = gevent.spawn(second.start, lock_wait_ms=10_000)
    gevent.sleep(0)
    mead.stop()
    starting.get(timeout=10)
    assert second.status()["ready"]
    second.stop()


def test_max_turns_keeps_the_newest(tree: dict[str, Any]) -> None:
    tree["storage"]["max_turns"] = 3
    with Mead(tree) as mead:
        session_id = mead.start_session()
        for number in range(8):
            mead.submit_turn(session_id, str(number))
        mead.compact_session(session_id)
        assert [turn.input for turn in mead.history(session_id)] == ["5", "6", "7"]
        mead.stop_session(session_id)
        assert [turn.input for turn in mead.history(session_id)] == ["5", "6", "7"]


def test_a_long_conversation_is_compacted_as_it_grows(tree: dict[str, Any], tmp_path: Path) -> None:
    tree["storage"]["compact_after_bytes"] = 20_000
    with Mead(tree) as mead:
        session_id = mead.start_session()
        for number in range(40):
            mead.submit_turn(session_id, f"{number} " + "x" * 400)
        path = tmp_path / "var" / f"{session_id}.log"
        appended = path.read_bytes().count(b'"type":"append"')
        replaced = path.read_bytes().count(b'"type":"replace_last"')
        assert appended == 40
        assert replaced < 40
        before = mead.history(session_id)
    with Mead(tree) as mead:
        assert mead.history(session_id) == before
