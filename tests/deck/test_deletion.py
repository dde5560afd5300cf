"""A conversation that is deleted while its deck is open: the files last, then the devices."""

import errno
import os
from threading import Event as ThreadEvent

import gevent
import pytest
from gevent.event import Event

from mead.deck.deck import Deck
from mead.errors import PersistenceError, SessionNotFound
from mead.storage.disk import RealDisk
from mead.storage.event_files import EventFiles
from mead.storage.session_store import FileStore
from tests.deck.conftest import opened
from tests.helpers.routing import Person
from tests.helpers.waiting import eventually

GONE = (4404, "gone")
STOPPED = (4409, "stopped")
ANSWER = [{"chunks": ["word "] * 2000, "delay_ms": 5}]


@pytest.fixture
def answering(make_mead, devices, tmp_path):
    """A device whose conversation's answer has begun."""
    mead, session_id = opened(make_mead(ANSWER, tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("a long one")
    device.hear("text.delta")
    return device


@pytest.fixture
def removal(monkeypatch):
    """The removal of files as the test wants it: `removal(act)` is called before each."""
    remove, acts = FileStore.delete, []

    def delete(store, session_id):
        for act in acts:
            act(session_id)
        return remove(store, session_id)

    monkeypatch.setattr(FileStore, "delete", delete)
    return acts.append


def test_what_is_removed_was_written_to_its_end(answering, removal, tmp_path):
    logs = []
    removal(lambda session_id: logs.append((tmp_path / f"{session_id}.events").read_bytes()))
    answering.mead.delete_session(answering.session_id)
    assert answering.gone() == GONE
    assert b"session_stopped" in logs[0]
    assert b'{"closed":true}' in logs[0]
    assert [each["reason"] for each in _heard_out(answering, "turn.failed")] == ["session_stopped"]
    assert not list(tmp_path.glob(f"{answering.session_id}.*"))


def test_a_refused_removal_leaves_a_conversation_that_is_stopped(answering, monkeypatch):
    mead, session_id = answering.mead, answering.session_id

    def refuse(disk, path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as refusing:
        refusing.setattr(RealDisk, "unlink", refuse)
        with pytest.raises(PersistenceError):
            mead.delete_session(session_id)
    assert answering.gone() == STOPPED
    assert mead.deck().title(session_id) == "a long one"
    mead.deck().redeem(mead.deck().issue_ticket(session_id).ticket)
    _heard_out(answering, "turn.failed")
    answering.come()
    assert not answering.snapshot["reset"]
    mead.delete_session(session_id)
    assert answering.gone() == GONE
    assert mead.deck().title(session_id) is None


def test_who_speaks_while_the_files_go_is_not_heard(answering, removal):
    removing, go = Event(), Event()
    removal(lambda _: removing.set() or go.wait(5))
    deleting = gevent.spawn(answering.mead.delete_session, answering.session_id)
    assert removing.wait(5)
    answering.send("late", "m2")
    eventually(lambda: answering.socket._said.empty())
    go.set()
    deleting.get(timeout=5)
    assert answering.gone() == GONE
    texts = [each["text"] for each in _heard_out(answering, "prompt.accepted")]
    assert texts == ["a long one"]


def test_a_turn_that_is_told_while_the_files_go_is_no_failure(
    make_mead, devices, removal, tmp_path, monkeypatch
):
    removing, go = Event(), Event()
    removal(lambda _: removing.set() or go.wait(5))
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id).come()
    with monkeypatch.context() as late:
        late.setattr(Deck, "made_elsewhere", lambda *_: None)
        turn = mead.submit(session_id, "apart", interaction=Person()).turn
    deleting = gevent.spawn(mead.delete_session, session_id)
    assert removing.wait(5)
    mead.deck().made_elsewhere(session_id, turn.id, "api")
    assert not mead.deck().cancel_queued(session_id, turn.id)
    go.set()
    deleting.get(timeout=5)
    assert device.gone() == GONE


def test_who_comes_while_the_files_go_finds_nothing(make_mead, removal, devices, tmp_path):
    removing, go = Event(), Event()
    removal(lambda _: removing.set() or go.wait(5))
    mead, session_id = opened(make_mead(directory=tmp_path))
    deleting = gevent.spawn(mead.delete_session, session_id)
    assert removing.wait(5)
    late = devices.at(mead, session_id).connect()
    late.say("session.resume", last_sequence=0)
    eventually(lambda: late.socket._said.empty())
    go.set()
    deleting.get(timeout=5)
    assert late.gone() == GONE
    assert not list(tmp_path.glob(f"{session_id}.*"))


def test_a_channel_that_was_starting_leaves_no_file(make_mead, devices, tmp_path, monkeypatch):
    mead, session_id = opened(make_mead(directory=tmp_path))
    create, creating, go = EventFiles.create, Event(), Event()

    def slow(files, id_):
        creating.set()
        go.wait(5)
        return create(files, id_)

    monkeypatch.setattr(EventFiles, "create", slow)
    device = devices.at(mead, session_id).connect()
    device.say("session.resume", last_sequence=0)
    assert creating.wait(5)
    deleting = gevent.spawn(mead.delete_session, session_id)
    eventually(lambda: mead.status()["sessions"] == 0)
    deleting.join(0.2)  # as long as a removal that does not wait would take
    go.set()
    deleting.get(timeout=5)
    assert device.gone() == GONE
    assert not list(tmp_path.glob(f"{session_id}.*"))


def test_a_replay_that_the_removal_overtakes_is_no_failure(
    make_mead, devices, tmp_path, monkeypatch
):
    mead, session_id = opened(make_mead(directory=tmp_path))
    devices.at(mead, session_id).come().ask("hi")
    opens, opening, go = RealDisk.open, ThreadEvent(), ThreadEvent()

    def slow(disk, path, mode):
        if mode == "read" and path.suffix == ".events":
            opening.set()
            go.wait(5)
        return opens(disk, path, mode)

    monkeypatch.setattr(RealDisk, "open", slow)
    late = devices.at(mead, session_id).come(last_sequence=0)
    eventually(opening.is_set)
    deleting = gevent.spawn(mead.delete_session, session_id)
    eventually(lambda: not list(tmp_path.glob(f"{session_id}.*")))
    go.set()
    deleting.get(timeout=5)
    assert late.gone() == GONE


def test_what_is_deleted_twice_at_once_is_gone_once(answering):
    mead, session_id = answering.mead, answering.session_id
    calls = [gevent.spawn(mead.delete_session, session_id) for _ in range(2)]
    gevent.joinall(calls, timeout=5)
    assert [type(call.exception) for call in calls if call.exception] == [SessionNotFound]
    assert answering.gone() == GONE


def _heard_out(device, type_):
    device.hear_out()
    return device.of(type_)


def test_a_name_that_comes_beside_the_deletion_does_not_outlive_it(make_mead, tmp_path):
    mead, session_id = opened(make_mead([{"text": "x"}], tmp_path))
    pool = mead._parts.tree.sessions
    with pool.exclusive(session_id):
        naming = gevent.spawn(mead.deck().set_title, session_id, "a name")
        gevent.idle()
        assert pool.delete_session(session_id)
    with pytest.raises(SessionNotFound):
        naming.get(timeout=5)
    assert mead.deck().title(session_id) is None
    assert not list(tmp_path.glob(f"{session_id}*"))
