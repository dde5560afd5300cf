"""One configured server: connected, kept connected, its tools published.  Source: seed A6.

    connecting --- handshake and tool list ---> ready --- lost ---> waiting (1, 2, 5, 15, 30 s)
        |                                         |                     |
        +--- failed ---> waiting                  +--- 401, 403 --------+---> connecting
        +--- 401, 403 ---> refused: nobody asks again until Mead is restarted

The actor never waits for its server: what waits is a task of its own, ended with it.
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
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.negotiation import Agreement, Listing, ProbeKilled, negotiate
from mead.mcp.client.peer import Peer
from mead.mcp.client.transport import Transport
from mead.mcp.client.upkeep import ForUpkeep, Upkeep, reader

log = logging.getLogger(__name__)

State = Literal["connecting", "ready", "waiting", "refused"]

BACKOFF_MS: Final = (1000, 2000, 5000, 15_000, 30_000)
STEADY_S: Final = 30.0
"""A connection that lasted so long starts again at the first delay when it is lost."""

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
        self._closing: Task[None] | None = None
        self._timer: Timer | None = None
        self._upkeep: Upkeep | None = None
        self._changed_early = False
        self._waiting: list[Reply] = []

    @property
    def settled(self) -> bool:
        """Whether an attempt has ended; one that ended with its probe is tried again otherwise."""
        return self.state in ("ready", "refused") or (self.state == "waiting" and self._probe)

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        self.ref.cast(_Connect())

    def on_stop(self, exit_: Exit) -> None:
        self._end_upkeep()
        self._catalog.withdraw(self.settings.name)
        if self._timer is not None:
            self._timer.cancel()
        if self._attempt is not None:
            # Killed as a link already.  Once more would cut short its own tidying up.
            self._attempt.wait(CLOSE_MS)
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
            case ForUpkeep(upkeep):
                if upkeep is self._upkeep:
                    upkeep.handle(message)
            case _:
                raise TypeError(type(message).__name__)

    # -- connecting --------------------------------------------------------------------------------

    def _connect(self, *, probe: bool) -> None:
        self.state = "connecting"
        self._changed_early = False
        self._transport = self._make_transport(self.settings, self._tasks)
        peer = Peer(
            self.settings.name,
            self._transport,
            on_changed=self._changed,
            on_lost=lambda peer, fault: self.ref.cast(_Lost(peer, fault)),
        )
        self._peer = peer
        work = partial(self._reach, self._closing, self._transport, peer, probe)
        self._attempt = self._tasks.start(
            work,
            name=f"{self.name}: connect",
            on_end=lambda outcome: self.ref.cast(_Attempted(peer, outcome)),
        )
        self.link(self._attempt)

    def _reach(
        self, closing: Task[None] | None, transport: Transport, peer: Peer, probe: bool
    ) -> _Found:
        """In a task: everything that waits for the server."""
        if closing is not None:
            closing.wait(CLOSE_MS)  # two children of one server might fight over its files
        transport.open(peer)
        agreement = negotiate(
            peer,
            timeout_ms=self.settings.handshake_timeout_ms,
            probe=probe,
            silence_is_legacy=self.settings.transport == "stdio",
        )
        return _Found(agreement, self._reader(peer)())

    def _reader(self, peer: Peer) -> Callable[[], Listing]:
        return reader(
            peer,
            timeout_ms=self.settings.handshake_timeout_ms,
            over_http=self.settings.transport == "http",
        )

    def _attempted(self, peer: Peer, outcome: "Outcome[_Found]") -> None:
        if self._attempt is not None:
            self.unlink(self._attempt)
            self._attempt = None
        if outcome.value is None:
            # After a probe that ended the server the next attempt does without, then both in turn.
            self._probe = not (self._probe and isinstance(outcome.error, ProbeKilled))
            self._broken(outcome.error)
            return
        self._ready(peer, outcome.value)

    def _ready(self, peer: Peer, found: _Found) -> None:
        self.state, self.fault, self._probe = "ready", None, True
        self.agreement = found.agreement
        self._ready_since = time.monotonic()
        self._upkeep = Upkeep(
            self.ref,
            self._tasks,
            peer,
            found.agreement,
            read=self._reader(peer),
            publish=self._publish,
            broken=self._broken,
        )
        self._upkeep.begin(found.listing, self._changed_early)
        log.info(
            "%s: connected, revision %s, %d tools",
            self.name,
            found.agreement.version,
            len(found.listing.offers),
        )
        self._answer_waiting(True)

    def _renew(self, forgotten: Peer) -> None:
        """Shake hands anew while the calls under way on the old session are answered."""
        self._end_upkeep()
        self._transport = None
        self._connect(probe=False)
        forgotten.retire()

    # -- losing ------------------------------------------------------------------------------------

    def _broken(self, error: BaseException | None) -> None:
        if isinstance(error, ServerFault):
            self._disconnected(error)
            return
        log.error("%s: connecting failed: %s", self.name, type(error).__name__)
        self._disconnected(ServerFault("connection_lost", "connecting failed"))

    def _disconnected(self, fault: ServerFault) -> None:
        """Take the tools away, and try again later."""
        if self.state == "ready" and time.monotonic() - self._ready_since >= STEADY_S:
            self._failures = 0
        self.fault = fault.again()  # without the frames that the raised one holds
        self._catalog.withdraw(self.settings.name)
        self._end_upkeep()
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
        self._timer = Timer(self.ref, delay_ms, _Connect())

    def _close_transport(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            self._closing = self._tasks.start(transport.close, name=f"{self.name}: close")

    # -- help --------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """The server says that its tools changed.  From the transport's tasks."""
        if self._upkeep is None:
            self._changed_early = True
        else:
            self._upkeep.changed()

    def _publish(self, line: Line) -> None:
        self._catalog.publish(self.settings.name, line)

    def _end_upkeep(self) -> None:
        upkeep, self._upkeep = self._upkeep, None
        if upkeep is not None:
            upkeep.end()

    def _answer_waiting(self, again: bool) -> None:
        waiting, self._waiting = self._waiting, []
        for reply in waiting:
            self.answer(reply, again)
