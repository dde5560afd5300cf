"""What is asked beside the socket: the list, titles, information; draining; the channel's end."""

import os
from collections.abc import Iterator

import gevent
import pytest
from gevent.event import Event

from mead.api import Mead
from mead.deck.deck import Deck
from mead.deck.naming import MAXIMUM_CHARACTERS
from mead.errors import InvalidInput, SessionNotFound
from mead.sessions.echo import EchoHandler
from mead.sessions.places import Places
from tests.deck.conftest import opened
from tests.helpers.waiting import eventually


def test_the_list_shows_what_each_conversation_does(make_mead, devices, tmp_path):
    go = Event()
    mead, busy = opened(make_mead(lambda request: "x" if go.wait(5) else "", tmp_path))
    device = devices.at(mead, busy).come()
    device.send("a first prompt that is rather long, longer than sixty characters are", "m1")
    device.send("second", "m2")
    device.hear("turn.started")
    device.hear("prompt.accepted")
    quiet = mead.start_session()
    mead.stop_session(quiet)
    rows = {row["session_id"]: row for row in mead.deck().sessions()}
    assert rows[busy] == {
        "session_id": busy,
        "title": "a first prompt that is rather long, longer than sixty charac",
        "updated_at": rows[busy]["updated_at"],
        "running": True,
        "turn_running": True,
        "queued": 1,
        "pending": 0,
    }
    assert rows[quiet]["running"] is rows[quiet]["turn_running"] is False
    assert rows[quiet]["title"] is None
    go.set()


def test_the_list_without_storage_shows_what_is_open(make_mead, devices):
    mead, session_id = opened(make_mead())
    assert mead.deck().sessions() == []
    device = devices.at(mead, session_id).come()
    device.ask("hi")
    assert [row["session_id"] for row in mead.deck().sessions()] == [session_id]


def test_the_list_shows_how_many_wait_for_a_person(make_mead, devices):
    write = {"tool_calls": [{"name": "notes__write", "arguments": {}}]}
    mead, session_id = opened(make_mead([write, {"text": "done"}]))
    device = devices.at(mead, session_id).come()
    device.send("go")
    request = device.hear("permission.requested")["payload"]["request_id"]
    assert [row["pending"] for row in mead.deck().sessions()] == [1]
    device.say("permission.respond", request_id=request, answer="allow_once")
    device.hear_end()
    assert [row["pending"] for row in mead.deck().sessions()] == [0]


def test_the_list_begins_with_what_happened_last(make_mead, devices, tmp_path):
    mead, older = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, older).come()
    newer = mead.start_session()
    os.utime(tmp_path / f"{newer}.log", times=(1_700_000_000, 1_700_000_000))
    os.utime(tmp_path / f"{older}.log", times=(1_600_000_000, 1_600_000_000))
    assert [row["session_id"] for row in mead.deck().sessions()] == [newer, older]
    device.say("policy.set", level="read_only")
    device.hear("policy.updated")
    assert [row["session_id"] for row in mead.deck().sessions()] == [older, newer]


def test_a_title_is_told_to_every_device_and_outlives_a_restart(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id).come()
    device.ask("hi")
    assert mead.deck().set_title(session_id, "  Tea 🍵 ", "phone") == "Tea 🍵"
    assert device.hear("session.titled")["payload"] == {"title": "Tea 🍵", "device_id": "phone"}
    device.leave()
    mead.stop()
    again = make_mead(directory=tmp_path)
    assert again.deck().sessions()[0]["title"] == "Tea 🍵"
    again.deck().redeem(again.deck().issue_ticket(session_id).ticket)
    assert devices.at(again, session_id).come().snapshot["title"] == "Tea 🍵"


def test_a_conversation_that_is_not_open_is_named_too(make_mead, devices, tmp_path):
    mead = make_mead(directory=tmp_path)
    session_id = mead.start_session()
    mead.deck().set_title(session_id, "Later")
    device = devices.at(mead, session_id).come()
    assert device.snapshot["title"] == "Later"
    device.ask("this does not name it")
    assert mead.deck().sessions()[0]["title"] == "Later"


@pytest.mark.parametrize("title", ["", "  ", 7, None, "x" * (MAXIMUM_CHARACTERS + 1)])
def test_what_is_no_title_is_refused(make_mead, title):
    mead = make_mead()
    with pytest.raises(InvalidInput):
        mead.deck().set_title(mead.start_session(), title)


def test_a_title_with_what_is_not_seen_is_refused(make_mead):
    mead = make_mead()
    with pytest.raises(InvalidInput, match="one line of visible text"):
        mead.deck().set_title(mead.start_session(), "gpj.\u202esh")


def test_a_title_from_a_file_or_a_prompt_is_told_without_what_is_not_seen(
    make_mead, devices, tmp_path
):
    mead, session_id = opened(make_mead(directory=tmp_path))
    devices.at(mead, session_id).come().ask("\u202ehow\u2028are\x1b[2Kyou")
    path = tmp_path / f"{session_id}.title"
    assert eventually(lambda: path.exists() and path.read_text()) == "how are [2Kyou"
    mead.stop()
    path.write_text("\x1b]0;mine\x07 tea\u202e\n" + "x" * 300)
    again = make_mead(directory=tmp_path)
    told = "]0;mine tea " + "x" * 188
    assert again.deck().sessions()[0]["title"] == told
    again.deck().redeem(again.deck().issue_ticket(session_id).ticket)
    assert devices.at(again, session_id).come().snapshot["title"] == told


def test_only_what_is_there_can_be_named(make_mead, tmp_path):
    with pytest.raises(SessionNotFound):
        make_mead(directory=tmp_path).deck().set_title("11111111-1111-4111-8111-111111111111", "x")


def test_the_default_title_is_written(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    devices.at(mead, session_id).come().ask("what is tea")
    path = tmp_path / f"{session_id}.title"
    assert eventually(lambda: path.exists() and path.read_text()) == "what is tea"


def test_the_information_names_slots_levels_and_limits(make_mead):
    info = make_mead(runtime={"default_route": "local"}).deck().info()
    assert info["default_route"] == "local"
    assert info["slots"] == {"local": None, "cloud": None}
    assert info["policy_levels"] == ["ask_for_all", "ask_for_risky", "allow_all", "read_only"]
    assert info["limits"]["frame_bytes"] == 65536
    assert info["durable"] is False


# -- draining --------------------------------------------------------------------------------------


def test_a_leaving_server_lets_turns_end_and_keeps_the_queue(make_mead, devices, tmp_path):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else "", tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("runs", "m1")
    device.send("waits", "m2")
    device.hear("turn.routed")
    mead.deck().drain()
    go.set()
    device.hear_end()
    assert device.of("turn.completed")
    mead.stop()
    device.hear_out()
    assert device.gone() == (1001, "restart")
    again = make_mead(directory=tmp_path)
    again.deck().redeem(again.deck().issue_ticket(session_id).ticket)
    back = devices.at(again, session_id).come(last_sequence=device.last_sequence)
    assert [prompt["text"] for prompt in back.snapshot["queue"]] in (["waits"], [])
    back.hear_end()
    assert [turn.input for turn in again.history(session_id)] == ["runs", "waits"]


def test_a_leaving_server_starts_no_turn_for_a_device_that_just_came(make_mead, devices, tmp_path):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else "", tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("runs", "m1")
    device.send("waits", "m2")
    device.hear("turn.routed")
    mead.deck()._channels.running(session_id).kill()
    device.gone()
    mead.deck().drain()
    device.come()
    assert [prompt["text"] for prompt in device.snapshot["queue"]] == ["waits"]
    device.say("policy.set", level="read_only")
    device.hear("policy.updated")
    assert len(device.of("turn.started")) == 1
    go.set()


def test_a_leaving_server_lets_nobody_wait_for_a_person(make_mead, devices):
    write = {"tool_calls": [{"name": "notes__write", "arguments": {}}]}
    mead, session_id = opened(make_mead([write, {"text": "done"}]))
    device = devices.at(mead, session_id).come()
    device.send("go")
    device.hear("permission.requested")
    mead.deck().drain()
    assert device.hear("permission.resolved")["payload"]["outcome"] == "expired"
    device.hear_end()
    assert device.of("turn.completed")


QUESTION = {"name": "ask_user", "arguments": {"prompt": "Which?", "options": ["a", "b"]}}


@pytest.mark.parametrize(
    ("call", "resolved"),
    [
        ({"name": "notes__write", "arguments": {}}, ("permission.resolved", "outcome", "expired")),
        (QUESTION, ("choice.resolved", "option", None)),
    ],
)
def test_a_turn_that_asks_when_the_server_leaves_is_not_kept_waiting(
    make_mead, devices, call, resolved
):
    go, answers = Event(), iter([{"tool_calls": [call]}, {"text": "done"}])
    mead, session_id = opened(make_mead(lambda request: go.wait(5) and next(answers)))
    device = devices.at(mead, session_id).come()
    device.send("go")
    device.hear("turn.routed")
    mead.deck().drain()
    go.set()
    type_, field, value = resolved
    assert device.hear(type_)["payload"][field] == value
    device.hear_end()
    assert device.of("turn.completed")


# -- the channel's own end -------------------------------------------------------------------------


@pytest.fixture
def impatient(make_mead, tmp_path) -> Iterator[tuple[Mead, Deck]]:
    """A deck whose channels do not wait a minute for somebody to come back."""
    mead = make_mead(lambda request: "x" if GO.wait(5) else "", tmp_path)
    GO.clear()
    tree = mead._parts.tree
    deck = Deck(
        mead.settings.deck,
        api=mead,
        places=Places(lambda: tree.sessions, EchoHandler(), 1000),
        find_session=tree.registry.lookup,
        files=mead._parts.store.event_files(),
        maximum_sessions=10,
        idle_end_ms=30,
    ).start()
    yield mead, deck
    deck.stop()


GO = Event()


def test_a_channel_that_nobody_uses_ends_and_another_follows(impatient, devices):
    mead, deck = impatient
    session_id, channels = mead.start_session(), deck._channels
    device = devices.at(mead, session_id, deck=deck).come()
    GO.set()
    device.ask("hi")
    first = channels.running(session_id)
    device.leave()
    eventually(lambda: not channels.children)
    back = devices.at(mead, session_id, deck=deck).come(last_sequence=device.last_sequence)
    assert back.snapshot["log_id"] == device.snapshot["log_id"]
    assert channels.running(session_id) is not first
    assert back.ask("more", "m2") == "x"


def test_a_channel_with_a_turn_does_not_end(impatient, devices):
    mead, deck = impatient
    session_id = mead.start_session()
    device = devices.at(mead, session_id, deck=deck).come()
    device.send("hi")
    device.hear("turn.started")
    device.leave()
    gevent.sleep(0.1)  # three times what it waits for somebody
    assert deck.is_attached(session_id)
    GO.set()
    eventually(lambda: not deck._channels.children)
    assert mead.history(session_id)[0].output == "x"
