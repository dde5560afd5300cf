"""The ledger: counts what the router sends to providers, and journals it.  Source: seed A5.

Theory of operation.  A receiver of `signals.route` checks each event, adds it to the totals and
puts it on the list of those that wait for the journal, all in the greenlet that emitted and
without yielding, so that a turn never waits for the disk.  The actor writes what waits, in batches.
Readers read the totals; a disk that hangs holds up the journal alone.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

import orjson

from mead import signals
from mead.actors.actor import Actor, ActorRef
from mead.actors.exits import Exit
from mead.actors.timer import Timer
from mead.errors import CorruptHistory, PersistenceError, SessionNotFound
from mead.ledger.event import turn_event
from mead.ledger.journal import Journal
from mead.ledger.totals import Row, Totals
from mead.turn import utc_now

log = logging.getLogger(__name__)

BATCH_EVENTS: Final = 100
BATCH_MS: Final = 50
"""A batch is written at whichever comes first (seed A5)."""

RETRY_MS: Final = 1000
"""After the disk refused a batch."""

WAITING_LIMIT: Final = 10_000
"""Events that may wait for a disk that hangs; more are counted, but not journaled."""

_FLUSH: Final = object()


class Ledger(Actor):
    """Owns the totals and the journal of one runtime."""

    name = "ledger"

    def __init__(
        self, sender: object, open_journal: Callable[[Totals], Journal[Any]] | None
    ) -> None:
        """Count what `sender` routes.  `open_journal` replays into the totals; None keeps none."""
        self._sender = sender
        self._open_journal = open_journal
        self._journal: Journal[Any] | None = None
        self._waiting: list[bytes] = []
        self._unjournaled = 0
        self._timer: Timer | None = None
        self.totals = Totals()

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        """Replay the journal, and only then listen.  Raises PersistenceError.  Blocks on: disk."""
        if self._open_journal is not None:
            self._journal = self._open_journal(self.totals)
        signals.route.connect(self._routed, sender=self._sender)

    def on_stop(self, exit_: Exit) -> None:
        """Stop listening and write what waits.  Blocks on: disk."""
        del exit_
        signals.route.disconnect(self._routed, sender=self._sender)
        if self._timer is not None:
            self._timer.cancel()
        self._flush()
        if self._journal is not None:
            self._journal.close()

    def handle_cast(self, message: Any) -> None:
        """A batch is due."""
        del message
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush()

    # -- counting (any greenlet, without yielding) -------------------------------------------------

    def forget(self, session_id: str) -> None:
        """See UsageLedger."""
        self._count({"type": "forget", "session_id": session_id})

    def _routed(self, sender: object, **fields: object) -> None:
        """Receives `signals.route`.  Never raises."""
        del sender
        self._count(turn_event(fields, utc_now()) or {"type": "dropped"})

    def _count(self, event: dict[str, Any]) -> None:
        self.totals.apply(event)
        if self._journal is None:
            return
        if len(self._waiting) >= WAITING_LIMIT:
            self._unjournaled += 1
            return
        self._waiting.append(orjson.dumps(event))
        if len(self._waiting) == BATCH_EVENTS:
            self.ref.cast(_FLUSH)
        elif self._timer is None:
            self._timer = Timer(self.ref, BATCH_MS, _FLUSH)

    # -- the journal (the actor alone) -------------------------------------------------------------

    def _flush(self) -> None:
        if self._journal is None or not self._waiting:
            return
        batch = list(self._waiting)
        try:
            self._write(self._journal, batch)
        except PersistenceError as error:
            # They stay and are tried again.
            log.warning("the ledger's journal was not written: %s", error)
            if self.exit is None:
                self._timer = Timer(self.ref, RETRY_MS, _FLUSH)
            return
        del self._waiting[: len(batch)]
        if self._unjournaled:
            log.warning("%d ledger events were counted but not journaled", self._unjournaled)
            self._unjournaled = 0

    def _write(self, journal: Journal[Any], batch: list[bytes]) -> None:
        try:
            journal.append(batch)
        except CorruptHistory:
            # The totals are right and hold what waits: they begin another journal, without it.
            batch[:] = self._waiting
            journal.begin_anew(self.totals)


class LedgerHandle:
    """The running ledger as the tree holds it: a child that is also a UsageLedger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ref: ActorRef = ledger.start()

    @property
    def ref(self) -> ActorRef:
        """The actor's address."""
        return self._ref

    @property
    def alive(self) -> bool:
        """See exits.Child."""
        return self._ref.alive

    def stop(self, timeout_ms: float = 5000) -> None:
        """See exits.Child."""
        self._ref.stop(timeout_ms)

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        """See exits.Child."""
        self._ref.on_end(callback)

    def forget(self, session_id: str) -> None:
        """See UsageLedger."""
        self._ledger.forget(session_id)

    def usage(self, recent: int) -> dict[str, Any]:
        """See UsageLedger."""
        totals = self._ledger.totals
        newest = list(totals.recent)[::-1][:recent]
        return {
            "totals": {**totals.all, "dropped": totals.dropped},
            "routes": [
                {"route": route, "provider": provider, "model": model, **row}
                for (route, provider, model), row in totals.routes.items()
            ],
            "days": [{"day": day, **totals.days[day]} for day in sorted(totals.days)],
            "recent": [dict(turn) for turn in newest],
        }

    def session_usage(self, session_id: str) -> dict[str, Any]:
        """See UsageLedger."""
        row: Row | None = self._ledger.totals.sessions.get(session_id)
        if row is None:
            raise SessionNotFound("nothing was counted for that session")
        return {"session_id": session_id, **row}
