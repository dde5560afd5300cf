"""One configured server: connected, kept connected, its tools published.  Source: seed A6.

    connecting --- handshake and tool list ---> ready --- lost ---> waiting (1, 2, 5, 15, 30 s)
        |                                         |                     |
        +--- failed ---> waiting                  +--- 401, 403 --------+---> connecting
        +--- 401, 403 ---> refused: nobody asks again until Mead is restarted

The actor never waits for its server: what waits is a task of its own, linked to it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from mead.actors.actor import NO_REPLY, Actor, Reply
from mead.actors.exits import Exit, Outcome
from mead.actors.tasks import Task, TaskSupervisor
from mead.actors.timer import Timer
from mead.config import ServerSettings
from mead.mcp.client.catalog import Catalog, Line
from mead.mcp.client.faults import RemoteError, ServerFault
from mead.mcp.client.negotiation import Agreement, Listing, ProbeKilled, list_tools, negotiate
from mead.mcp.client.peer import Peer
from mead.mcp.client.transport import Transport
from mead.mcp.client.versions import MODERN

log = logging.getLogger(__name__)

State = Literal["connecting", "ready", "waiting", "refused"]

BACKOFF_MS: Final = (1000, 2000, 5000, 15_000, 30_000)
STEADY_S: Final = 30.0
"""A connection that lasted so long starts again at the first delay when it is lost."""

REFRESH_PAUSE_MS: Final = 1000
"""Between two readings of a tool list that the server says has changed, again and again."""

SHORTEST_FRESH_MS: Final = 30_000
"""A list with a shorter life is read again no sooner than that (some servers say 0)."""

LISTEN_PAUSE_MS: Final = 30_000

CLOSE_MS: Final = 8000
"""A transport's close is bounded below this."""


@dataclass(frozen=True, slots=True)
class Renew:
    """Call: the server did not take a request of this peer, wait for the next handshake.

    It has forgotten the session, or could not be reached.  The answer: whether the handshake
    succeeded.
    """

    peer: Peer


@dataclass(frozen=True, slots=True)
class _Connect:
    pass


@dataclass(frozen=True, slots=True)
class _Attempted:
    peer: Peer
    outcome: "Outcome[_Found]"


@dataclass(frozen=True, slots=True)
class _Lost:
    peer: Peer
    fault: ServerFault


@dataclass(frozen=True, slots=True)
class _Refresh:
    pass


@dataclass(frozen=True, slots=True)
class _Refreshed:
    peer: Peer
    outcome: Outcome[Listing]


@dataclass(frozen=True, slots=True)
class _Listen:
    pass


@dataclass(frozen=True, slots=True)
class _Listened:
    peer: Peer
    outcome: Outcome[Any]


@dataclass(frozen=True, slots=True)
class _Found:
    """What a connection attempt found."""

    agreement: Agreement
    listing: Listing


class Connection(Actor):
    """See the module."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        catalog: Catalog,
        tasks: TaskSupervisor,
        make_transport: Callable[[ServerSettings, TaskSupervisor], Transport],
        backoff_ms: Sequence[int] = BACKOFF_MS,
    ) -> None:
        self.name = f"mcp server {settings.name}"
        self.settings = settings
        self.state: State = "connecting"
        self.fault: ServerFault | None = None
        """Why it is not connected."""
        self.agreement: Agreement | None = None
        """What the last handshake found out."""
        self._catalog = catalog
        self._tasks = tasks
        self._make_transport = make_transport
        self._backoff_ms = backoff_ms
        self._failures = 0
        self._ready_since = 0.0
        self._probe = True
        self._transport: Transport | None = None
        self._peer: Peer | None = None
        self._attempt: Task[_Found] | None = None
        self._refreshing: Task[Listing] | None = None
        self._listening: Task[Any] | None = None
        self._change_told = False
        self._closing: Task[None] | None = None
        self._timers: dict[type, Timer] = {}
        self._waiting: list[Reply] = []

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        self.ref.cast(_Connect())

    def on_stop(self, exit_: Exit) -> None:
        self._cancel_timers()
        self._catalog.withdraw(self.settings.name)
        if self._peer is not None:
            self._peer.closed(ServerFault("connection_lost", "Mead ended the connection"))
        if self._transport is not None:
            self._transport.close()
        if self._closing is not None:
            self._closing.wait(CLOSE_MS)

    def handle_call(self, message: Any, reply: Reply) -> Any:
        if not isinstance(message, Renew):
            raise TypeError(type(message).__name__)
        if self.state == "ready" and self._peer is not message.peer:
            return True  # someone else was first
        if self.state == "refused":
            return False
        if self.state == "ready":
            self._renew(message.peer)
        self._waiting.append(reply)
        return NO_REPLY

    def handle_cast(self, message: Any) -> None:
        match message:
            case _Connect():
                self._connect(probe=self._probe)
            case _Attempted(peer, outcome):
                self._attempted(peer, outcome)
            case _Lost(peer, fault):
                if peer is self._peer and self.state == "ready":
                    self._disconnected(fault)
            case _Refresh():
                self._refresh()
            case _Refreshed(peer, outcome):
                self._refreshed(peer, outcome)
            case _Listen():
                self._listen()
            case _Listened(peer, outcome):
                self._listened(peer, outcome)
            case _:
                raise AssertionError("unknown message")

    # -- connecting --------------------------------------------------------------------------------

    def _connect(self, *, probe: bool) -> None:
        self._cancel_timers()
        self.state = "connecting"
        self._transport = self._make_transport(self.settings, self._tasks)
        peer = Peer(
            self.settings.name,
            self._transport,
            on_changed=self._tell_changed,
            on_lost=lambda peer, fault: self.ref.cast(_Lost(peer, fault)),
        )
        self._peer = peer
        work = partial(self._attempt_in_task, self._closing, self._transport, peer, probe)
        self._attempt = self._tasks.start(
            work,
            name=f"{self.name}: connect",
            on_end=lambda outcome: self.ref.cast(_Attempted(peer, outcome)),
        )
        self.link(self._attempt)

    def _attempt_in_task(
        self, closing: Task[None] | None, transport: Transport, peer: Peer, probe: bool
    ) -> _Found:
        """In a task: everything that waits for the server."""
        if closing is not None:
            closing.wait(CLOSE_MS)  # two children of one server might fight over its files
        over_http = self.settings.transport == "http"
        timeout_ms = self.settings.handshake_timeout_ms
        transport.open(peer)
        agreement = negotiate(
            peer, timeout_ms=timeout_ms, probe=probe, silence_is_legacy=not over_http
        )
        return _Found(agreement, list_tools(peer, timeout_ms=timeout_ms, over_http=over_http))

    def _attempted(self, peer: Peer, outcome: "Outcome[_Found]") -> None:
        if self._attempt is not None:
            self.unlink(self._attempt)
            self._attempt = None
        if outcome.value is None:
            self._failed(outcome.error)
            return
        found = outcome.value
        self.state, self.fault, self._probe = "ready", None, True
        self.agreement = found.agreement
        self._ready_since = time.monotonic()
        self._publish(peer, found.listing)
        log.info(
            "%s: connected, revision %s, %d tools",
            self.name,
            found.agreement.version,
            len(found.listing.offers),
        )
        self._answer_waiting(True)
        if self._change_told:
            self._refresh()
        self._listen()

    def _failed(self, error: BaseException | None) -> None:
        # After a probe that ended the server the next attempt does without; then both in turn.
        self._probe = not (isinstance(error, ProbeKilled) and self._probe)
        if isinstance(error, ServerFault):
            self._disconnected(error)
            return
        log.error("%s: connecting failed", self.name, exc_info=error)
        self._disconnected(ServerFault("connection_lost", "connecting failed"))

    def _renew(self, forgotten: Peer) -> None:
        """Shake hands anew while the calls under way on the old session are answered."""
        self._transport = None
        self._connect(probe=False)
        forgotten.retire()

    def _disconnected(self, fault: ServerFault) -> None:
        """Take the tools away, and try again later."""
        if self.state == "ready" and time.monotonic() - self._ready_since >= STEADY_S:
            self._failures = 0
        self.fault = fault
        self._catalog.withdraw(self.settings.name)
        self._end_tasks()
        if self._peer is not None:
            self._peer.unusable(fault)
        self._close_transport()
        self._answer_waiting(False)
        if fault.code == "unauthorized":
            self.state = "refused"
            log.error("%s: %s; Mead does not ask again before it is restarted", self.name, fault)
            return
        self.state = "waiting"
        delay_ms = self._backoff_ms[min(self._failures, len(self._backoff_ms) - 1)]
        self._failures += 1
        log.warning("%s: %s; next attempt in %g s", self.name, fault, delay_ms / 1000)
        self._after(delay_ms, _Connect())

    def _close_transport(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            self._closing = self._tasks.start(transport.close, name=f"{self.name}: close")

    # -- the tool list -----------------------------------------------------------------------------

    def _tell_changed(self) -> None:
        """From the transport's tasks: one message at most is under way, however often it comes."""
        if not self._change_told:
            self._change_told = True
            self.ref.cast(_Refresh())

    def _refresh(self) -> None:
        if self.state != "ready" or self._refreshing is not None or self._peer is None:
            return
        self._change_told = False
        peer = self._peer
        work = partial(
            list_tools,
            peer,
            timeout_ms=self.settings.handshake_timeout_ms,
            over_http=self.settings.transport == "http",
        )
        self._refreshing = self._tasks.start(
            work,
            name=f"{self.name}: refresh",
            on_end=lambda outcome: self.ref.cast(_Refreshed(peer, outcome)),
        )
        self.link(self._refreshing)

    def _refreshed(self, peer: Peer, outcome: Outcome[Listing]) -> None:
        if self._refreshing is None or peer is not self._peer or self.state != "ready":
            return  # abandoned with its connection
        self.unlink(self._refreshing)
        self._refreshing = None
        if outcome.value is not None:
            self._publish(peer, outcome.value)
            if self._change_told:
                self._after(REFRESH_PAUSE_MS, _Refresh())
        elif isinstance(outcome.error, ServerFault):
            self._disconnected(outcome.error)
        else:
            self._failed(outcome.error)

    def _publish(self, peer: Peer, listing: Listing) -> None:
        stale_at = None
        if listing.fresh_ms is not None and self._listening is None:
            stale_at = time.monotonic() + max(listing.fresh_ms, SHORTEST_FRESH_MS) / 1000
        line = Line(
            peer=peer,
            offers=listing.offers,
            stale_at=stale_at,
            refresh=self._tell_changed,
        )
        self._catalog.publish(self.settings.name, line)

    # -- hearing of changes (modern era) -----------------------------------------------------------

    def _listen(self) -> None:
        """Ask a modern server to say when its tool list changes: one request that stays open."""
        agreement = self.agreement
        if (
            self.state != "ready"
            or self._listening is not None
            or self._peer is None
            or agreement is None
            or agreement.version not in MODERN
            or not agreement.announces_changes
        ):
            return
        peer = self._peer
        work = partial(
            peer.request,
            "subscriptions/listen",
            {"notifications": {"toolsListChanged": True}},
            timeout_ms=None,
        )
        self._listening = self._tasks.start(
            work,
            name=f"{self.name}: listen",
            on_end=lambda outcome: self.ref.cast(_Listened(peer, outcome)),
        )
        self.link(self._listening)

    def _listened(self, peer: Peer, outcome: Outcome[Any]) -> None:
        """The stream ended.  Nothing is replayed, so the list is read again."""
        if self._listening is None or peer is not self._peer or self.state != "ready":
            return
        self.unlink(self._listening)
        self._listening = None
        if isinstance(outcome.error, RemoteError):
            log.info("%s: does not tell when its tools change", self.name)
            return
        self._after(LISTEN_PAUSE_MS, _Listen())
        self._after(LISTEN_PAUSE_MS, _Refresh())

    # -- help --------------------------------------------------------------------------------------

    def _after(self, delay_ms: float, message: object) -> None:
        """One timer a kind of message: a later one replaces it."""
        earlier = self._timers.pop(type(message), None)
        if earlier is not None:
            earlier.cancel()
        self._timers[type(message)] = Timer(self.ref, delay_ms, message)

    def _cancel_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _end_tasks(self) -> None:
        self._cancel_timers()
        refreshing, self._refreshing = self._refreshing, None
        listening, self._listening = self._listening, None
        for task in (refreshing, listening):
            if task is not None:
                self.unlink(task)
                task.kill()

    def _answer_waiting(self, again: bool) -> None:
        waiting, self._waiting = self._waiting, []
        for reply in waiting:
            self.answer(reply, again)
