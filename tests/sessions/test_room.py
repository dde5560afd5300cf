"""A full pool makes room: the longest idle conversation is stopped, never a busy one."""

from pathlib import Path
from typing import Any

import gevent
import pytest

from mead import Mead, errors
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually
from tests.sessions.conftest import stored_in


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    return stored_in(tmp_path / "var")


def test_a_full_pool_stops_the_longest_idle_conversation(
    tree: dict[str, Any], puppet: Puppet
) -> None:
    tree["runtime"] = {"maximum_sessions": 3}
    with Mead(tree, handlers={"puppet": puppet}) as mead:
        oldest, busy, recent = (mead.start_session(handler="puppet") for _ in range(3))
        running = gevent.spawn(mead.submit_turn, busy, "hold")
        assert eventually(lambda: puppet.started)
        mead.submit_turn(recent, "x")
        fourth = mead.start_session()
        states = {entry.session_id: entry.running for entry in mead.list_sessions()}
        assert states == {oldest: False, busy: True, recent: True, fourth: True}
        mead.resume_session(oldest)
        assert mead.status()["sessions"] == 3
        puppet.release.set()
        assert running.get(timeout=5) == "hold"


def test_everyone_who_comes_at_once_finds_a_place(tree: dict[str, Any]) -> None:
    tree["runtime"] = {"maximum_sessions": 10}
    with Mead(tree) as mead:
        first = [mead.start_session() for _ in range(10)]
        starting = [gevent.spawn(mead.start_session) for _ in range(10)]
        second = [each.get(timeout=10) for each in starting]
        running = {entry.session_id for entry in mead.list_sessions() if entry.running}
        assert running == set(second)
        assert len(mead.list_sessions()) == len(first) + len(second)


def test_no_room_is_made_at_the_cost_of_a_turn(tree: dict[str, Any]) -> None:
    """A turn on its way in, or being opened on the disk, is no idleness."""
    tree["runtime"] = {"maximum_sessions": 4}
    with Mead(tree) as mead:
        for _ in range(10):
            ids = [mead.start_session() for _ in range(4)]
            turns = [gevent.spawn(mead.submit_turn, id_, "kept") for id_ in ids]
            starting = [gevent.spawn(mead.start_session) for _ in range(4)]
            gevent.joinall([*turns, *starting], timeout=10)
            assert [turn.get() for turn in turns] == ["kept"] * 4
            for each in starting:
                assert each.successful() or isinstance(each.exception, errors.TooManySessions)


def test_a_resume_that_fails_stops_nobody(tree: dict[str, Any]) -> None:
    tree["runtime"] = {"maximum_sessions": 2}
    with Mead(tree) as mead:
        for _ in range(2):
            mead.start_session()
        with pytest.raises(errors.SessionNotFound):
            mead.resume_session("0a0b0c0d-0000-4000-8000-000000000001")
        assert mead.status()["sessions"] == 2


def test_a_pool_of_busy_conversations_makes_no_room(tree: dict[str, Any], puppet: Puppet) -> None:
    tree["runtime"] = {"maximum_sessions": 2}
    with Mead(tree, handlers={"puppet": puppet}) as mead:
        ids = [mead.start_session(handler="puppet") for _ in range(2)]
        turns = [gevent.spawn(mead.submit_turn, session_id, "hold") for session_id in ids]
        assert eventually(lambda: len(puppet.started) == 2)
        with pytest.raises(errors.TooManySessions):
            mead.start_session()
        puppet.release.set()
        gevent.joinall(turns, timeout=5, raise_error=True)
