"""Keeping the published tool list of a connected server current, for as long as it is connected.

The list is read again when the server says that it changed, when the time that it gave the list has
run out (and a turn looks at it), and after a break of the stream on which a modern server tells.
A reading that is never answered is abandoned, and the connection with it.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from mead.actors.actor import ActorRef
from mead.actors.exits import Outcome
from mead.actors.tasks import Task, TaskSupervisor
from mead.actors.timer import Timer
from mead.mcp.client.catalog import Line
from mead.mcp.client.faults import RemoteError
from mead.mcp.client.negotiation import Agreement, Listing, list_tools
from mead.mcp.client.peer import Peer
from mead.mcp.client.versions import MODERN

log = logging.getLogger(__name__)

PAUSE_MS: Final = 1000
"""At least, from the beginning of one reading of the list to that of the next."""

SHORTEST_FRESH_MS: Final = 30_000
"""A list with a shorter life is read again no sooner than that (some servers say 0)."""

LISTEN_PAUSE_MS: Final = 30_000

Step = Literal["refresh", "listen"]


@dataclass(frozen=True, slots=True)
class ForUpkeep:
    """A message to the connection's actor that is for its upkeep."""

    upkeep: "Upkeep"
    step: Step
    ended: Outcome[Any] | None = None
    """The step ended so; None: it is to begin."""


class Upkeep:
    """State of one connection's actor while it is connected; called by that actor alone."""

    def __init__(
        self,
        actor: ActorRef,
        tasks: TaskSupervisor,
        peer: Peer,
        agreement: Agreement,
        *,
        read: Callable[[], Listing],
        publish: Callable[[Line], None],
        broken: Callable[[BaseException | None], None],
    ) -> None:
        """`read` reads the list and waits for the server; `broken` is told why it could not."""
        self._actor = actor
        self._tasks = tasks
        self._peer = peer
        self._agreement = agreement
        self._read = read
        self._publish = publish
        self._broken = broken
        self._running: dict[Step, Task[Any]] = {}
        self._timers: dict[Step, Timer] = {}
        self._told = False
        self._read_began = time.monotonic()

    def begin(self, listing: Listing, changed: bool) -> None:
        """With the list that the handshake brought; `changed`: it is known to be old already."""
        agreement = self._agreement
        if agreement.version in MODERN and agreement.announces_changes:
            self._start("listen", self._listen)
        self._show(listing)
        if changed:
            self._refresh()

    def end(self) -> None:
        """The connection is lost."""
        for timer in self._timers.values():
            timer.cancel()
        for task in self._running.values():
            task.kill()
        self._timers.clear()
        self._running.clear()

    def changed(self) -> None:
        """The list may be old.  From any greenlet; one message at most is under way."""
        if not self._told:
            self._told = True
            self._actor.cast(ForUpkeep(self, "refresh"))

    def handle(self, message: ForUpkeep) -> None:
        """A message came back to the actor."""
        step, ended = message.step, message.ended
        if ended is not None:
            self._running.pop(step, None)
            if step == "refresh":
                self._refreshed(ended)
            else:
                self._listened(ended)
        elif step in self._running:
            return
        elif step == "refresh":
            self._refresh()
        else:
            self._start(step, self._listen)

    def _start(self, step: Step, work: Callable[[], Any]) -> None:
        self._running[step] = self._tasks.start(
            work,
            name=f"{self._peer.name}: {step}",
            on_end=lambda outcome: self._actor.cast(ForUpkeep(self, step, outcome)),
        )

    def _after(self, delay_ms: float, step: Step) -> None:
        earlier = self._timers.pop(step, None)
        if earlier is not None:
            earlier.cancel()
        self._timers[step] = Timer(self._actor, delay_ms, ForUpkeep(self, step))

    # -- reading the list --------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Read the list, or wait: some servers tell of a change whenever they are asked."""
        now = time.monotonic()
        left_ms = PAUSE_MS - (now - self._read_began) * 1000
        if left_ms > 0:
            self._after(left_ms, "refresh")
            return
        self._told = False
        self._read_began = now
        self._start("refresh", self._read)

    def _refreshed(self, outcome: Outcome[Listing]) -> None:
        if outcome.value is None:
            self._broken(outcome.error)
            return
        self._show(outcome.value)
        if self._told:
            self._refresh()

    def _show(self, listing: Listing) -> None:
        stale_at = None
        if listing.fresh_ms is not None and "listen" not in self._running:
            stale_at = time.monotonic() + max(listing.fresh_ms, SHORTEST_FRESH_MS) / 1000
        self._publish(
            Line(peer=self._peer, offers=listing.offers, stale_at=stale_at, refresh=self.changed)
        )

    # -- hearing of changes from a modern server ---------------------------------------------------

    def _listen(self) -> Mapping[str, Any]:
        """In a task: a request that stays open for as long as the server tells."""
        wanted = {"notifications": {"toolsListChanged": True}}
        return self._peer.request("subscriptions/listen", wanted, timeout_ms=None)

    def _listened(self, outcome: Outcome[Any]) -> None:
        """The stream ended.  Nothing is replayed, so the list is read again."""
        if isinstance(outcome.error, RemoteError):
            log.info("mcp server %s: does not tell when its tools change", self._peer.name)
        else:
            self._after(LISTEN_PAUSE_MS, "listen")
        self._after(LISTEN_PAUSE_MS, "refresh")


def reader(peer: Peer, *, timeout_ms: float, over_http: bool) -> Callable[[], Listing]:
    """What reads the list of that peer."""
    return partial(list_tools, peer, timeout_ms=timeout_ms, over_http=over_http)
