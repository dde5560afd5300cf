"""Single-use tickets: what a device is given over HTTP and gives up for its WebSocket.

A ticket holds a place in the session pool for a conversation that does not run yet, so that a
ticket which was issued can also be redeemed.  Several tickets for one conversation share its place.
Source: seed A9, SPEC section 8, "Connecting".
"""

import secrets
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

from mead.actors.actor import Actor, Reply
from mead.actors.exits import Exit
from mead.actors.timer import Timer
from mead.deck.refusals import TicketLimit, TicketRefused
from mead.ids import new_session_id
from mead.protocols.places import SessionPlaces

LIVE_TICKETS: Final = 100
_BYTES: Final = 24
"""192 random bits; as text they may stand in a URL and in a header."""


class Issue(NamedTuple):
    """A call: a ticket for that conversation, None for a new one.  Answers a Ticket.

    Raises TicketLimit, TooManySessions.  Whether the conversation exists is the caller's matter.
    """

    session_id: str | None


class Redeem(NamedTuple):
    """A call: take the ticket.  Answers a Claim; raises TicketRefused."""

    value: str


class Void(NamedTuple):
    """A call: no ticket issued so far for that conversation, None for any, is good any more."""

    session_id: str | None


class _Expire(NamedTuple):
    value: str


class Ticket(NamedTuple):
    """What a device is given."""

    ticket: str
    session_id: str
    expires_in_ms: int


class Claim(NamedTuple):
    """What a redeemed ticket is good for."""

    session_id: str
    is_new: bool
    """Whether the conversation may have to be started, and not resumed."""
    place: ExitStack | None
    """The place that was held for it; the claimant's now, to use or to close."""


class _Held:
    """A conversation for which there are live tickets."""

    __slots__ = ("is_new", "place", "tickets")

    def __init__(self, *, is_new: bool, place: ExitStack | None) -> None:
        self.is_new = is_new
        self.place = place
        self.tickets = 0


class Tickets(Actor):
    """The table of live tickets.  Taking one out is atomic: an actor does one thing at a time."""

    name = "tickets"

    def __init__(
        self, places: SessionPlaces, is_running: Callable[[str], bool], *, ttl_ms: int
    ) -> None:
        self._places = places
        self._is_running = is_running
        self._ttl_ms = ttl_ms
        self._sessions: dict[str, str] = {}
        """Ticket -> session id."""
        self._timers: dict[str, Timer] = {}
        self._held: dict[str, _Held] = {}

    def is_held(self, session_id: str) -> bool:
        """Whether there is a live ticket for that conversation; readable by anyone."""
        return session_id in self._held

    def on_stop(self, exit_: Exit) -> None:
        del exit_
        self._void(None)

    def handle_call(self, message: Any, reply: Reply) -> Any:
        del reply
        if isinstance(message, Issue):
            return self._issue(message.session_id)
        if isinstance(message, Redeem):
            return self._redeem(message.value)
        if isinstance(message, Void):
            return self._void(message.session_id)
        raise TypeError(f"{self.name} does not take {type(message).__name__}")

    def handle_cast(self, message: Any) -> None:
        """A ticket was not used in time."""
        if self._timers.pop(message.value, None) is not None:
            self._let_go(message.value)

    def _issue(self, session_id: str | None) -> Ticket:
        if len(self._sessions) >= LIVE_TICKETS:
            raise TicketLimit
        is_new = session_id is None
        session_id = session_id or new_session_id()
        held = self._held.get(session_id)
        if held is None:
            place = None if self._is_running(session_id) else self._places.hold()
            held = self._held[session_id] = _Held(is_new=is_new, place=place)
        held.tickets += 1
        value = secrets.token_urlsafe(_BYTES)
        self._sessions[value] = session_id
        self._timers[value] = Timer(self.ref, self._ttl_ms, _Expire(value))
        return Ticket(value, session_id, self._ttl_ms)

    def _redeem(self, value: str) -> Claim:
        timer = self._timers.pop(value, None)
        if timer is None:
            raise TicketRefused
        timer.cancel()
        session_id, held = self._take(value)
        # Other tickets for it stay valid; the place goes to the first that is used.
        place, held.place = held.place, None
        return Claim(session_id, held.is_new, place)

    def _void(self, session_id: str | None) -> None:
        for value, each in list(self._sessions.items()):
            if session_id in (None, each):
                self._timers.pop(value).cancel()
                self._let_go(value)

    def _let_go(self, value: str) -> None:
        _, held = self._take(value)
        if not held.tickets and held.place is not None:
            held.place.close()

    def _take(self, value: str) -> tuple[str, _Held]:
        session_id = self._sessions.pop(value)
        held = self._held[session_id]
        held.tickets -= 1
        if not held.tickets:
            del self._held[session_id]
        return session_id, held
