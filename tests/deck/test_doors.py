"""One conversation, many doors; stopping, deleting and making room under a deck."""

from contextlib import suppress

import pytest
from gevent.event import Event

from mead.deck.messages import Door
from mead.deck.refusals import TicketRefused
from mead.errors import (
    Busy,
    InvalidInput,
    SessionCrashed,
    SessionNotFound,
    SessionStopped,
    TooManySessions,
    TurnCancelled,
    TurnFailed,
)
from mead.ids import new_turn_id
from tests.deck.asking import calling
from tests.deck.conftest import opened
from tests.deck.device import text_of
from tests.deck.doors import CALLERS, call
from tests.helpers.waiting import eventually

WRITE = {"name": "notes__write", "arguments": {}}
ORDER = {"second": 0, "first": 1, "third": 2}


class Nobody:
    """An interaction of its own."""

    def routed(self, facts): ...

    def text_delta(self, text): ...

    def authorize(self, use, cancel):
        return True

    def call_finished(self, call_id, status, summary): ...

    def choose(self, prompt, options): ...


def test_a_turn_of_another_door_is_shown_with_its_origin(make_mead, devices):
    mead, session_id = opened(make_mead())
    device = devices.at(mead, session_id).come()
    seen: list[str] = []
    turn_id = new_turn_id()
    receipt = mead.submit(
        session_id, "from a tool", on_text=seen.append, origin="mcp", turn_id=turn_id
    )
    assert receipt.output == "".join(seen) == "Hello"
    assert receipt.turn.id == turn_id
    device.hear_end()
    accepted = device.of("prompt.accepted")[0]
    assert (accepted["origin"], accepted["turn_id"], accepted["text"]) == (
        "mcp",
        turn_id,
        "from a tool",
    )
    assert "device_id" not in accepted


def test_its_permissions_are_asked_on_the_devices(make_mead, devices, tools):
    mead, session_id = opened(make_mead(calling(WRITE)))
    device = devices.at(mead, session_id).come()
    submitted = call(mead.submit_turn, session_id, "go", tools="effect")
    request = device.hear("permission.requested")["payload"]["request_id"]
    device.say("permission.respond", request_id=request, answer="allow_once")
    assert submitted() == "done"
    assert tools.calls


def test_route_and_tools_stay_the_callers(make_mead, devices, tools):
    mead, session_id = opened(make_mead(calling(WRITE)))
    device = devices.at(mead, session_id).come()
    mead.submit_turn(session_id, "without effects", route="local")
    device.hear_end()
    assert device.of("prompt.accepted")[0]["route"] == "local"
    assert not device.of("tool_call.started")  # the model asked for what it was not shown
    assert not tools.calls


def test_a_turn_whose_caller_is_lost_with_the_channel_runs_without_effects(
    make_mead, devices, tmp_path
):
    """Of what the caller asked for only the log is left, which says nothing of tools."""
    go, offered = Event(), {}

    def script(request):
        offered[request.prompt] = {tool.name for tool in request.tools}
        return "x" if go.wait(5) else ""

    mead, session_id = opened(make_mead(script, tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("runs")
    device.hear("turn.routed")
    lost = call(mead.submit_turn, session_id, "waits", tools="effect")
    device.hear("prompt.accepted")
    mead.deck()._channels.running(session_id).kill()
    with pytest.raises(SessionCrashed):
        lost()
    device.gone()
    go.set()
    device.come()
    while len(device.of("metric.updated")) < 4:
        device.hear()
    assert "notes__write" in offered["runs"]
    assert "notes__read" in offered["waits"]
    assert "notes__write" not in offered["waits"]


def test_a_turn_with_an_interaction_of_its_own_is_shown_once_it_has_ended(
    make_mead, devices, tools
):
    mead, session_id = opened(make_mead(calling(WRITE)))
    device = devices.at(mead, session_id).come()
    turn = mead.submit(session_id, "mine", interaction=Nobody(), tools="effect", origin="cli").turn
    assert text_of(device.hear_end()) == turn.output
    accepted = device.of("prompt.accepted")[0]
    assert (accepted["turn_id"], accepted["text"], accepted["origin"]) == (turn.id, "mine", "cli")
    assert not device.of("permission.requested")
    assert tools.calls


@pytest.mark.parametrize("ends", ["completed", "cancelled"])
def test_a_turn_that_ran_when_the_device_came_is_shown_once_it_has_ended(make_mead, devices, ends):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "to it" if go.wait(5) else ""))
    submitted = call(mead.submit, session_id, "before you came", origin="mcp")
    eventually(lambda: mead.history(session_id))
    device = devices.at(mead, session_id).come()
    assert device.snapshot["last_sequence"] == 0
    if ends == "cancelled":
        mead.cancel_turn(session_id)
    go.set()
    device.hear_end()
    accepted = device.of("prompt.accepted")[0]
    assert (accepted["text"], accepted["origin"]) == ("before you came", "mcp")
    assert device.types().count(f"turn.{'failed' if ends == 'cancelled' else ends}") == 1
    with suppress(TurnCancelled):
        submitted()


def test_a_turn_that_ends_while_the_decks_own_waits_for_it_is_shown_behind_that(make_mead, devices):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: request.prompt if go.wait(5) else ""))
    submitted = call(mead.submit_turn, session_id, "first")
    eventually(lambda: mead.history(session_id))
    device = devices.at(mead, session_id).come()
    device.send("second", "m2")
    device.send("third", "m3")
    while len(device.of("prompt.accepted")) < 2:
        device.hear()
    go.set()
    for _ in range(3):
        device.hear_end()
    assert [each["turn_id"] for each in device.of("turn.started")] == [
        turn.id for turn in sorted(mead.history(session_id), key=lambda turn: ORDER[turn.input])
    ]
    assert submitted() == "first"
    again = devices.at(mead, session_id).come()
    assert again.hear_all(device.last_sequence) == device.events


def test_without_a_device_nothing_changes(make_mead):
    mead, session_id = opened(make_mead())
    assert mead.submit_turn(session_id, "hi") == "Hello"
    door = Door(new_turn_id(), "hi", None, None, None, "api")
    assert mead.deck().submit(session_id, door) is None


def test_the_errors_of_a_turn_reach_its_caller(make_mead, devices):
    mead, session_id = opened(make_mead())
    devices.at(mead, session_id).come()
    with pytest.raises(TurnFailed) as failed:
        mead.submit_turn(session_id, "hi", route="cloud")
    assert failed.value.reason == "cloud_unavailable"


@pytest.fixture
def crowded(make_mead, devices):
    """A conversation whose turn waits, and the event that lets it go on."""
    go = Event()
    mead, session_id = opened(
        make_mead(lambda request: f"to {request.prompt}" if go.wait(5) else "", queue_limit=2)
    )
    device = devices.at(mead, session_id).come()
    device.send("first")
    device.hear("turn.routed")
    return device, go


def test_a_full_queue_is_busy_for_every_door(crowded):
    device, go = crowded
    waiting = [call(device.mead.submit_turn, device.session_id, f"t{number}") for number in (1, 2)]
    for _ in waiting:
        device.hear("prompt.accepted")
    with pytest.raises(Busy):
        device.mead.submit_turn(device.session_id, "too much")
    go.set()
    assert [each() for each in waiting] == ["to t1", "to t2"]


def test_a_turn_cancelled_while_queued_is_told_to_its_caller(crowded):
    device, go = crowded
    submit = device.mead.submit_turn
    by_device = call(submit, device.session_id, "one")
    one = device.hear("prompt.accepted")["payload"]["turn_id"]
    two = new_turn_id()
    by_call = call(submit, device.session_id, "two", turn_id=two)
    device.hear("prompt.accepted")
    device.say("turn.cancel", turn_id=one)
    device.mead.cancel_turn(device.session_id, two)
    for caller in (by_device, by_call):
        with pytest.raises(TurnCancelled):
            caller()
    cancelled = [device.hear("prompt.cancelled")["payload"]["turn_id"] for _ in range(2)]
    assert set(cancelled) == {one, two}
    go.set()


def test_a_running_turn_of_another_door_is_cancelled_by_a_device(crowded):
    device, go = crowded
    caller = call(device.mead.submit_turn, device.session_id, "one")
    device.hear("prompt.accepted")
    device.say("turn.cancel", turn_id=device.of("turn.started")[0]["turn_id"])
    turn_id = device.hear("turn.started")["payload"]["turn_id"]
    device.say("turn.cancel", turn_id=turn_id)
    with pytest.raises(TurnCancelled):
        caller()
    go.set()


def test_a_turn_id_is_used_once(crowded):
    device, go = crowded
    turn_id = device.of("prompt.accepted")[0]["turn_id"]
    with pytest.raises(InvalidInput):
        device.mead.submit_turn(device.session_id, "hi", turn_id=turn_id)
    go.set()


def test_a_caller_that_goes_away_does_not_end_its_turn(crowded):
    device, go = crowded
    caller = CALLERS.start(lambda: device.mead.submit_turn(device.session_id, "one"))
    device.hear("prompt.accepted")
    caller.kill()
    go.set()
    device.hear_end()
    device.hear_end()
    assert len(device.of("turn.completed")) == 2


# -- stopping --------------------------------------------------------------------------------------


def test_a_stop_logs_the_ends_and_closes_the_sockets(make_mead, devices, tmp_path):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else "", tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("runs", "m1")
    device.hear("turn.routed")
    device.send("waits", "m2")
    device.hear("prompt.accepted")
    mead.stop_session(session_id)
    device.hear_out()
    assert device.gone() == (4409, "stopped")
    assert device.of("prompt.cancelled")[0]["reason"] == "stopped"
    assert device.of("turn.failed")[0]["reason"] == "session_stopped"
    assert len(device.of("metric.updated")) == 2
    assert not device.mead.deck().sessions()[0]["running"]
    # A ticket resumes it, and the log goes on where it was.
    again = mead.deck().redeem(mead.deck().issue_ticket(session_id).ticket)
    back = devices.at(mead, again).come(last_sequence=0)
    back.hear_all(device.last_sequence)
    assert back.events == device.events
    go.set()
    assert back.ask("more", "m3") == "x"


def test_a_caller_whose_turn_is_stopped_in_the_queue_is_told(crowded):
    device, go = crowded
    caller = call(device.mead.submit_turn, device.session_id, "one")
    device.hear("prompt.accepted")
    device.mead.stop_session(device.session_id)
    with pytest.raises(SessionStopped):
        caller()
    go.set()


def test_without_storage_a_stopped_conversation_is_gone(make_mead, devices):
    mead, session_id = opened(make_mead())
    device = devices.at(mead, session_id).come()
    mead.stop_session(session_id)
    assert device.gone() == (4404, "gone")
    with pytest.raises(SessionNotFound):
        mead.deck().issue_ticket(session_id)


def test_a_deleted_conversation_leaves_no_file(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id).come()
    device.ask("hi")
    assert any(tmp_path.glob(f"{session_id}.*"))
    mead.delete_session(session_id)
    assert device.gone() == (4404, "gone")
    assert not list(tmp_path.glob(f"{session_id}.*"))
    with pytest.raises(SessionNotFound):
        mead.deck().issue_ticket(session_id)


def test_no_ticket_revives_a_deleted_conversation(make_mead, tmp_path):
    mead = make_mead(directory=tmp_path, runtime={"maximum_sessions": 1})
    first = mead.deck().issue_ticket()
    other = mead.deck().issue_ticket(first.session_id)
    mead.deck().redeem(first.ticket)
    mead.delete_session(first.session_id)
    with pytest.raises(SessionNotFound):
        mead.deck().issue_ticket(first.session_id)
    with pytest.raises(TicketRefused):
        mead.deck().redeem(other.ticket)
    assert mead.start_session(), "no place is held for it any more"


def test_a_stop_followed_at_once_by_a_ticket_finds_everything(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id)
    for number in range(5):
        device.come()
        device.ask("hi", f"m{number}")
        mead.stop_session(session_id)
        assert mead.deck().redeem(mead.deck().issue_ticket(session_id).ticket) == session_id
        assert device.gone() == (4409, "stopped")
    assert len(mead.history(session_id)) == 5


# -- room ------------------------------------------------------------------------------------------


def test_an_attached_conversation_is_not_stopped_to_make_room(make_mead, devices, tmp_path):
    mead, attached = opened(make_mead(directory=tmp_path, runtime={"maximum_sessions": 2}))
    device = devices.at(mead, attached).come()
    idle = mead.start_session()
    newest = mead.start_session()
    running = {entry.session_id: entry.running for entry in mead.list_sessions()}
    assert running == {attached: True, idle: False, newest: True}
    assert device.ask("still here") == "Hello"


def test_a_conversation_that_a_ticket_was_given_for_is_not_stopped_to_make_room(
    make_mead, devices, tmp_path
):
    """Neither before the ticket is used nor before its socket has resumed."""
    mead = make_mead(directory=tmp_path, runtime={"maximum_sessions": 1})
    session_id = mead.start_session()
    ticket = mead.deck().issue_ticket(session_id)
    with pytest.raises(TooManySessions):
        mead.start_session()
    device = devices.at(mead, mead.deck().redeem(ticket.ticket)).connect()
    eventually(lambda: mead.deck().is_attached(session_id))
    with pytest.raises(TooManySessions):
        mead.start_session()
    device.resume()
    assert device.ask("still here") == "Hello"


def test_a_conversation_that_a_device_has_left_makes_room(make_mead, devices, tmp_path):
    mead, left = opened(make_mead(directory=tmp_path, runtime={"maximum_sessions": 1}))
    device = devices.at(mead, left).come()
    device.ask("hi")
    device.leave()
    other = mead.start_session()
    running = {entry.session_id: entry.running for entry in mead.list_sessions()}
    assert running == {left: False, other: True}
    device.connect().say("session.resume", last_sequence=0)
    assert device.gone()[0] == 4409
