"""The deck of one runtime: one call for each thing that a device or another door asks.

    deck (one_for_one, 3 restarts in 5 s)
    +-- tickets     the table of single-use tickets
    +-- channels    one for each conversation that a device has open

The blueprint of the deck checks and parses, then makes one of these calls.  Each raises MeadError
subclasses only; `mead.deck.refusals.STATUS` has their HTTP status.  Source: SPEC section 8.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import chain
from typing import Any, Final, cast, get_args

from mead.actors.actor import ActorRef
from mead.actors.exits import ActorDied, Exit, MailboxFull
from mead.actors.supervisor import ChildSpec, Supervisor
from mead.actors.tasks import TaskSupervisor
from mead.config.settings import DeckSettings, PolicyLevel
from mead.deck.channels import ChannelPool, FindSession
from mead.deck.closing import RESTART
from mead.deck.deletion import deletion
from mead.deck.listing import rows
from mead.deck.logins import Logins
from mead.deck.messages import CancelQueued, Door, MadeElsewhere, Retitle
from mead.deck.naming import checked
from mead.deck.refusals import Draining
from mead.deck.snapshot import limits
from mead.deck.socket import DeckSocket
from mead.deck.surroundings import IDLE_END_MS, Surroundings
from mead.deck.tickets import Claim, Issue, Redeem, Ticket, Tickets, Void
from mead.deck.titles import Titles
from mead.errors import Busy, InvalidInput, SessionCrashed, SessionNotFound, SessionStopped
from mead.ids import is_uuid4
from mead.protocols import Origin, SessionAPI, TurnReceipt
from mead.protocols.places import SessionPlaces
from mead.protocols.sockets import FrameSocket
from mead.storage.event_files import EventFiles

MAX_RESTARTS: Final = 3
MAX_SECONDS: Final = 5.0
CHANNELS_PER_SESSION: Final = 2
"""One that ends, beside the one that follows it."""
NO_DECK: Final = "deck.token is not set, so this Mead has no deck to log in to"


class Deck:
    """A child of the tree.  Every call may be made from any greenlet."""

    def __init__(
        self,
        settings: DeckSettings,
        *,
        api: SessionAPI,
        places: SessionPlaces,
        find_session: FindSession,
        files: EventFiles | None,
        maximum_sessions: int,
        describe: Callable[[], Mapping[str, Any]] = dict,
        logins: Logins | None = None,
        idle_end_ms: float = IDLE_END_MS,
    ) -> None:
        """`files` is None without a storage directory; `describe` adds to `info`.

        `logins`: None keeps those of this deck in memory alone.

        Raises PersistenceError.  Blocks on: disk.
        """
        self._api = api
        self._places = places
        self._find_session = find_session
        self._describe = describe
        self.logins = Logins(None) if logins is None else logins
        self._sockets: dict[str, set[FrameSocket]] = {}
        """The open sockets of each conversation, also before they resume."""
        self._is_draining = False
        self._tasks = TaskSupervisor("deck")
        self._around = Surroundings(
            api=api,
            settings=settings,
            files=files,
            titles=Titles(files, self._tasks),
            tasks=self._tasks,
            idle_end_ms=idle_end_ms,
        )
        most = CHANNELS_PER_SESSION * maximum_sessions
        self._tickets: Tickets
        self._children = Supervisor(
            "deck",
            (
                ChildSpec(id="tickets", start=self._start_tickets),
                ChildSpec(
                    id="channels",
                    start=lambda: ChannelPool(self._around, find_session, max_children=most),
                ),
            ),
            strategy="one_for_one",
            max_restarts=MAX_RESTARTS,
            max_seconds=MAX_SECONDS,
        )

    # -- as a child of the tree --------------------------------------------------------------------

    def start(self) -> "Deck":
        """Start tickets and channels."""
        self._children.start()
        return self

    @property
    def alive(self) -> bool:
        return self._children.alive

    def stop(self, timeout_ms: float = 5000) -> None:
        """End every channel; turns that run go on without it.  See Child.stop."""
        self._children.stop()
        self._tasks.stop(timeout_ms)

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        self._children.on_end(callback)

    # -- a device comes ----------------------------------------------------------------------------

    def issue_ticket(self, session_id: object = None) -> Ticket:
        """A ticket for that conversation, or for a new one.

        Raises Draining, SessionNotFound (gone: do not retry), CorruptHistory, PersistenceError,
        TooManySessions, TicketLimit.  Blocks on: disk, for a conversation that does not run.
        """
        if self._is_draining:
            raise Draining
        if session_id is None:
            return self._ticket(None)
        if not is_uuid4(session_id):
            raise SessionNotFound
        id_ = cast(str, session_id)
        if not self._is_running(id_) and not self._tickets.is_held(id_):
            self._api.history(id_)  # what is not there, or damaged, is found now and not later
        return self._ticket(id_)

    def redeem(self, ticket: str) -> str:
        """The session id of a ticket, once that conversation runs; the ticket is then used up.

        Raises Draining, TicketRefused, and what opening the conversation raises.
        Blocks on: disk.
        """
        if self._is_draining:
            raise Draining
        claim = cast(Claim, self._ask_tickets(Redeem(ticket)))
        self._places.open(claim.session_id, is_new=claim.is_new, place=claim.place)
        return claim.session_id

    def serve(self, socket: FrameSocket, session_id: str) -> None:
        """A device's whole stay: what the WebSocket's view does.  Blocks on: the client."""
        sockets = self._sockets.setdefault(session_id, set())
        sockets.add(socket)
        try:
            DeckSocket(socket, session_id, self._channels, self._around).run()
        finally:
            sockets.discard(socket)
            if not sockets:
                self._sockets.pop(session_id, None)

    # -- who may come ------------------------------------------------------------------------------

    def new_code(self) -> str:
        """A login code.  Raises InvalidInput without `deck.token`, PersistenceError."""
        if self._around.settings.token is None:
            raise InvalidInput(NO_DECK)
        return self.logins.new_code()

    def revoke(self) -> int:
        """Let no access token in any more; how many there were.

        Every device is closed and has to come again, with a new ticket, so that those without a
        token stay out.  Raises PersistenceError.  Blocks on: disk.
        """
        count = self.logins.revoke()
        self._ask_tickets(Void(None))
        for socket in tuple(chain.from_iterable(self._sockets.values())):
            socket.close(*RESTART)
        return count

    # -- beside the socket -------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """What a page shows before it connects."""
        settings = self._around.settings
        return {
            **self._describe(),
            "policy_levels": list(get_args(PolicyLevel)),
            "default_policy_level": settings.default_policy_level,
            "durable": self._around.files is not None,
            "limits": limits(settings),
        }

    def sessions(self) -> list[dict[str, Any]]:
        """The conversations, stored or open, newest first.

        Raises PersistenceError.  Blocks on: disk.
        """
        stored = self._api.list_sessions()
        return rows(stored, self._channels, self._around.titles, self._find_session)

    def title(self, session_id: str) -> str | None:
        """The name of a conversation, if it has one.  Blocks on: nothing."""
        return self._around.titles.get(session_id)

    def set_title(self, session_id: str, title: object, device_id: str | None = None) -> str:
        """Name a conversation; the name without white space around it.

        Raises InvalidInput, SessionNotFound, PersistenceError.  Blocks on: disk.
        """
        name = checked(title)
        with self._places.exclusive(session_id):  # a name may not outlive its conversation
            if not self._exists(session_id):
                raise SessionNotFound
            self._around.titles.put(session_id, name)
        channel = self._running_channel(session_id)
        if channel is not None:
            _ask(channel, Retitle(name, device_id))
        return name

    @property
    def is_draining(self) -> bool:
        """Whether the server is leaving."""
        return self._is_draining

    def drain(self) -> None:
        """The server is leaving: no ticket, no new turn, nobody waits for a person any more."""
        self._is_draining = True
        if (channels := self._running_channels) is not None:
            channels.drain()

    # -- other doors -------------------------------------------------------------------------------

    def submit(self, session_id: str, door: Door) -> TurnReceipt | None:
        """Run a turn through the conversation's channel; None when it has none.

        Raises Busy, InvalidInput, TurnError, SessionStopped, SessionCrashed.
        Blocks on: the turns before this one and the turn itself.
        """
        channel = self._running_channel(session_id)
        return None if channel is None else _ask(channel, door)

    def cancel_queued(self, session_id: str, turn_id: str) -> bool:
        """Take a turn out of a channel's queue; whether it was there."""
        channel = self._running_channel(session_id)
        return channel is not None and _ask(channel, CancelQueued(turn_id)) is True

    def made_elsewhere(self, session_id: str, turn_id: str, origin: Origin) -> None:
        """A turn has ended; where its conversation's channel does not know it, it shows it now.

        Blocks on: nothing.
        """
        channel = self._running_channel(session_id)
        if channel is not None:
            with suppress(MailboxFull):  # the next channel finds it in the history
                channel.cast(MadeElsewhere(turn_id, origin))

    def is_attached(self, session_id: str) -> bool:
        """Whether a device is there or has a ticket for it, or a turn runs or waits there."""
        channels = self._running_channels
        if channels is None:
            return False
        is_expected = session_id in self._sockets or self._tickets.is_held(session_id)
        return is_expected or channels.is_attached(session_id)

    def deletion(self, session_id: str) -> AbstractContextManager[Callable[[], None]]:
        """The conversation is about to be stopped and its files removed; see `mead.deck.deletion`.

        Tickets for it are worthless: one would begin it anew under its id.  Blocks on: tickets.
        """
        with suppress(SessionStopped):
            self._ask_tickets(Void(session_id))
        return deletion(self._running_channels, self._around.titles, session_id)

    # -- inside ------------------------------------------------------------------------------------

    @property
    def _channels(self) -> ChannelPool:
        channels = self._running_channels
        if channels is None:
            raise SessionStopped("the deck is restarting")
        return channels

    @property
    def _running_channels(self) -> ChannelPool | None:
        return cast("ChannelPool | None", self._children.child("channels"))

    def _running_channel(self, session_id: str) -> ActorRef | None:
        channels = self._running_channels
        return None if channels is None else channels.running(session_id)

    def _start_tickets(self) -> ActorRef:
        self._tickets = Tickets(
            self._places, self._is_running, ttl_ms=self._around.settings.ticket_ttl_ms
        )
        return self._tickets.start()

    def _ticket(self, session_id: str | None) -> Ticket:
        return cast(Ticket, self._ask_tickets(Issue(session_id)))

    def _ask_tickets(self, message: object) -> object:
        tickets = cast("ActorRef | None", self._children.child("tickets"))
        if tickets is None:
            raise SessionStopped("the deck is restarting")
        try:
            return tickets.call(message)
        except (ActorDied, MailboxFull):
            raise SessionStopped("the deck is restarting") from None

    def _is_running(self, session_id: str) -> bool:
        return self._find_session(session_id) is not None

    def _exists(self, session_id: str) -> bool:
        return self._is_running(session_id) or any(
            entry.session_id == session_id for entry in self._api.list_sessions()
        )


def _ask(channel: ActorRef, message: object) -> Any:
    """A channel's answer; None when it ended before it looked at the message."""
    try:
        return channel.call(message, None)
    except MailboxFull:
        raise Busy from None
    except ActorDied as died:
        if died.unread:
            return None
        raise SessionCrashed(
            "the deck of that conversation failed; its history tells whether the turn ran"
        ) from None
