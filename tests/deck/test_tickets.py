"""Tickets: single use, short lives, places that are held and given back."""

import pytest
from gevent.event import Event

from mead.actors.tasks import TaskSupervisor
from mead.deck.deck import Deck
from mead.deck.refusals import STATUS, Draining, TicketLimit, TicketRefused
from mead.deck.tickets import LIVE_TICKETS
from mead.errors import CorruptHistory, MeadError, SessionNotFound, TooManySessions
from tests.deck.conftest import opened
from tests.helpers.waiting import eventually


@pytest.fixture
def full(make_mead):
    """A Mead without storage that has room for one conversation."""
    return make_mead(runtime={"maximum_sessions": 1})


def test_a_ticket_is_used_once(make_mead):
    deck = make_mead().deck()
    ticket = deck.issue_ticket()
    assert ticket.expires_in_ms == 10_000
    assert deck.redeem(ticket.ticket) == ticket.session_id
    with pytest.raises(TicketRefused):
        deck.redeem(ticket.ticket)


def test_of_many_who_redeem_one_ticket_at_once_one_gets_in(make_mead):
    deck, tasks, go = make_mead().deck(), TaskSupervisor(), Event()
    ticket = deck.issue_ticket().ticket

    def redeem() -> str:
        go.wait()
        return deck.redeem(ticket)

    racers = [tasks.start(redeem) for _ in range(50)]
    go.set()
    outcomes = [racer.wait(5000) for racer in racers]
    assert [outcome.ok for outcome in outcomes].count(True) == 1
    assert all(isinstance(each.error, TicketRefused) for each in outcomes if not each.ok)


@pytest.mark.parametrize("value", ["", "x", "ticket", "é" * 40])
def test_a_ticket_that_was_never_issued_is_refused(make_mead, value):
    with pytest.raises(TicketRefused):
        make_mead().deck().redeem(value)


def test_a_ticket_expires(make_mead):
    deck = make_mead(ticket_ttl_ms=20).deck()
    ticket = deck.issue_ticket().ticket
    eventually(lambda: not deck._tickets._sessions)
    with pytest.raises(TicketRefused):
        deck.redeem(ticket)


def test_a_conversation_of_a_ticket_starts_when_it_is_redeemed(make_mead):
    mead = make_mead()
    ticket = mead.deck().issue_ticket()
    with pytest.raises(SessionNotFound):
        mead.history(ticket.session_id)
    mead.deck().redeem(ticket.ticket)
    assert mead.history(ticket.session_id) == []


def test_a_ticket_holds_a_place_until_it_is_used_or_expires(make_mead):
    mead = make_mead(runtime={"maximum_sessions": 1}, ticket_ttl_ms=50)
    mead.deck().issue_ticket()
    with pytest.raises(TooManySessions):
        mead.start_session()
    with pytest.raises(TooManySessions):
        mead.deck().issue_ticket()
    assert eventually(lambda: can_start(mead))


def can_start(mead) -> bool:
    try:
        return bool(mead.start_session())
    except TooManySessions:
        return False


def test_a_second_ticket_for_a_conversation_that_has_not_started_shares_its_place(full):
    deck = full.deck()
    first = deck.issue_ticket()
    second = deck.issue_ticket(first.session_id)
    assert second.session_id == first.session_id
    assert deck.redeem(second.ticket) == deck.redeem(first.ticket) == first.session_id
    assert full.status()["sessions"] == 1


def test_the_place_goes_to_the_first_ticket_that_is_used(full):
    deck = full.deck()
    first = deck.issue_ticket()
    second = deck.issue_ticket(first.session_id)
    deck.redeem(first.ticket)
    full.stop_session(first.session_id)
    full.start_session()  # the place is free: the other ticket does not hold it any more
    with pytest.raises(TooManySessions):
        deck.redeem(second.ticket)


def test_a_redeemed_ticket_leaves_no_place_behind(full):
    for _ in range(5):
        session_id = full.deck().redeem(full.deck().issue_ticket().ticket)
        assert full.status()["sessions"] == 1
        full.stop_session(session_id)
    assert full.status()["sessions"] == 0


def test_a_running_conversation_is_joined_without_another_place(full):
    session_id = full.start_session()
    ticket = full.deck().issue_ticket(session_id)
    assert full.deck().redeem(ticket.ticket) == session_id
    assert full.status()["sessions"] == 1


def test_a_stopped_conversation_is_resumed_by_its_ticket(make_mead, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    mead.submit_turn(session_id, "hi")
    mead.stop_session(session_id)
    ticket = mead.deck().issue_ticket(session_id)
    assert not mead.list_sessions()[0].running
    mead.deck().redeem(ticket.ticket)
    assert mead.history(session_id)[0].output == "Hello"


@pytest.mark.parametrize("session_id", ["11111111-1111-4111-8111-111111111111", "x", 7, "../x", ""])
def test_a_conversation_that_is_not_there_gets_no_ticket(make_mead, tmp_path, session_id):
    with pytest.raises(SessionNotFound):
        make_mead(directory=tmp_path).deck().issue_ticket(session_id)


def test_a_damaged_conversation_is_found_before_the_ticket_is_given(make_mead, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    for _ in range(3):
        mead.submit_turn(session_id, "hi")
    mead.stop_session(session_id)
    path = tmp_path / f"{session_id}.log"
    damaged = bytearray(eventually(path.read_bytes))
    damaged[20] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(CorruptHistory):
        mead.deck().issue_ticket(session_id)
    assert STATUS["corrupt_history"] == 409


def test_there_are_at_most_a_hundred_live_tickets(make_mead):
    deck = make_mead().deck()
    first = deck.issue_ticket()
    for _ in range(LIVE_TICKETS - 1):
        deck.issue_ticket()
    with pytest.raises(TicketLimit):
        deck.issue_ticket()
    deck.redeem(first.ticket)
    deck.issue_ticket()


def test_a_server_that_leaves_gives_and_takes_no_tickets(make_mead):
    deck = make_mead().deck()
    ticket = deck.issue_ticket().ticket
    deck.drain()
    with pytest.raises(Draining):
        deck.issue_ticket()
    with pytest.raises(Draining):
        deck.redeem(ticket)


def test_every_refusal_has_a_status():
    for error in (TicketRefused, TicketLimit, Draining, SessionNotFound, CorruptHistory):
        assert STATUS[error.code] in (401, 404, 409, 503)
        assert issubclass(error, MeadError)


def test_the_places_of_tickets_are_given_back_when_the_deck_restarts(full):
    deck = full.deck()
    deck.issue_ticket()
    deck._children.child("tickets").kill()
    eventually(lambda: can_start(full))
    assert isinstance(full.deck(), Deck)
