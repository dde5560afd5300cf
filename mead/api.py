"""`Mead`: the public calls, the only door to a conversation.  Source: seed M, SPEC section 3."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mead import arguments
from mead.actors.green import with_pauses
from mead.control.calls import control_calls
from mead.control.server import Call
from mead.deck.deck import Deck
from mead.deck.messages import Door
from mead.errors import SessionNotFound, SessionStopped
from mead.export import ExportFormat, exported
from mead.ids import new_turn_id
from mead.protocols import (
    Interaction,
    Origin,
    RepairReport,
    StoredSession,
    TurnHandler,
    TurnReceipt,
)
from mead.runtime import Runtime
from mead.sessions.asking import ask
from mead.sessions.history import Compact, Read
from mead.sessions.pool import SessionPool
from mead.sessions.server import Cancel, Submit
from mead.sessions.supervisor import SessionSupervisor
from mead.turn import Turn

LIST_STEP: Final = 250
"""Conversations listed between two yields, a few milliseconds."""


class Mead(Runtime):
    """A runtime: a supervision tree of conversations, and the calls on them.

    `with Mead() as mead:` starts and stops it.  Several may run in one process.  Every call may be
    made from any greenlet, and raises MeadError subclasses only (see `mead.errors`): those that it
    names, and SessionStopped where the runtime, or SessionCrashed where the conversation, ends
    before there is an answer.
    """

    # -- conversations -----------------------------------------------------------------------------

    def start_session(
        self, *, handler: str | TurnHandler | None = None, turn_timeout_ms: int | None = None
    ) -> str:
        """Start a conversation and return its id.

        `handler` is `router`, `echo`, a configured name, or an object with `handle_turn`; the
        default is `runtime.turn_handler`.  `turn_timeout_ms` is 1 to 3 600 000.
        Raises InvalidInput, TooManySessions, PersistenceError.  Blocks on: disk.
        """
        chosen, timeout_ms = self._options(handler, turn_timeout_ms)
        pool, abandoned = self._pool(), [False]

        def start() -> str:
            session_id = pool.start_session(chosen, timeout_ms)
            if abandoned[0]:  # nobody will ever know its id
                pool.delete_session(session_id)
            return session_id

        try:
            return self._apart(start)
        except BaseException:
            abandoned[0] = True
            raise

    def submit_turn(
        self,
        session_id: str,
        text: str,
        *,
        route: str | None = None,
        tools: str | None = None,
        interaction: Interaction | None = None,
        on_text: Callable[[str], None] | None = None,
        turn_id: str | None = None,
    ) -> str:
        """Run one turn and return its output; see `submit`, which also returns the turn."""
        return self.submit(
            session_id,
            text,
            route=route,
            tools=tools,
            interaction=interaction,
            on_text=on_text,
            turn_id=turn_id,
        ).output

    def submit(
        self,
        session_id: str,
        text: str,
        *,
        route: str | None = None,
        tools: str | None = None,
        interaction: Interaction | None = None,
        on_text: Callable[[str], None] | None = None,
        turn_id: str | None = None,
        origin: Origin = "api",
    ) -> TurnReceipt:
        """Run one turn, after those that wait already, and return its output and record.

        `text`: 1 to 100 000 characters.  `route`: auto, local or cloud; None is
        `runtime.default_route`.  `tools`: "effect" also shows the model tools with side effects.
        `interaction`: the person to ask before each tool call.  `on_text`: called in the turn's
        task with each fragment of the answer as it grows; it must not wait or raise.  `turn_id`: an
        id of the caller's choice, a UUID version 4.  `origin`: the door, as devices are told.

        Where a device has the conversation open, a turn without an interaction of its own is shown
        there, and the person there is asked before its tool calls.  One with an interaction of its
        own is shown there once it has ended.
        Raises InvalidInput, InvalidRoute, InvalidInteraction, SessionNotFound, Busy,
        PersistenceError (all before anything is recorded), TurnFailed, TurnTimeout, TurnCancelled,
        SessionStopped, SessionCrashed.  Blocks on: the turns before this one and the turn itself.
        """
        message = Submit(
            turn_id=new_turn_id() if turn_id is None else arguments.turn_id(turn_id),
            id_was_given=turn_id is not None,
            text=arguments.text(text),
            route=arguments.route(route),
            tools=arguments.tools(tools),
            interaction=arguments.interaction(interaction),
            on_text=arguments.on_text(on_text),
        )
        pair = self._pair(session_id)
        shown = self._through_deck(session_id, message, origin)
        if shown is not None:
            return shown
        if pair.activity.leaving:
            raise SessionStopped("the session makes room for another; resume it")
        pair.activity.submitting += 1
        try:
            receipt: TurnReceipt = ask(lambda: pair.server, pair, message)
        finally:
            pair.activity.submitting -= 1
            if (deck := self._parts.tree.deck) is not None:
                deck.made_elsewhere(session_id, message.turn_id, origin)
        return receipt

    def cancel_turn(self, session_id: str, turn_id: str | None = None) -> None:
        """End that turn, running or waiting, as cancelled; None means the running one.

        Raises SessionNotFound when there is no such session or no such turn.
        """
        if turn_id is not None:
            arguments.turn_id(turn_id)
        pair, deck = self._pair(session_id), self._parts.tree.deck
        if turn_id is not None and deck is not None and deck.cancel_queued(session_id, turn_id):
            return
        ask(lambda: pair.server, pair, Cancel(turn_id))

    def history(self, session_id: str) -> list[Turn]:
        """The turns in order, oldest first, of a running or a stored conversation.

        Raises SessionNotFound, CorruptHistory, PersistenceError.  Blocks on: disk if it is stopped.
        """
        pair = self._running(session_id)
        if pair is None:
            return self._parts.store.load(session_id)
        return ask(lambda: pair.history, pair, Read())

    def stop_session(self, session_id: str) -> None:
        """Stop it; the stored conversation and its usage stay.  Raises SessionNotFound."""
        id_ = arguments.session_id(session_id)
        pool = self._pool()
        if not self._apart(lambda: pool.stop_session(id_)):
            raise SessionNotFound

    def resume_session(
        self,
        session_id: str,
        *,
        handler: str | TurnHandler | None = None,
        turn_timeout_ms: int | None = None,
    ) -> str:
        """Start a stored conversation again and return its id; options as `start_session`.

        Turns that were running when it ended come back as interrupted; the file is compacted first.
        Raises InvalidInput, SessionNotFound, AlreadyRunning, CorruptHistory, TooManySessions,
        PersistenceError.  Blocks on: disk.
        """
        chosen, timeout_ms = self._options(handler, turn_timeout_ms)
        id_ = arguments.session_id(session_id)
        pool = self._pool()
        self._apart(lambda: pool.resume_session(id_, chosen, timeout_ms))
        return session_id

    def delete_session(self, session_id: str) -> None:
        """Stop it if it runs, remove every file of it, and forget what it spent.

        Raises SessionNotFound when there was neither a session nor a file, PersistenceError.
        """
        id_ = arguments.session_id(session_id)
        pool = self._pool()
        if not self._apart(lambda: self._delete(pool, id_)):
            raise SessionNotFound
        self._ledger().forget(session_id)

    def list_sessions(self) -> list[StoredSession]:
        """The stored conversations, newest first, from names and times alone.

        Without `storage.directory` nothing is stored and the list is empty.
        Raises PersistenceError.  Blocks on: disk.
        """
        self._pool()
        lookup, deck = self._parts.tree.registry.lookup, self._parts.tree.deck
        return [
            StoredSession(
                session_id=entry.session_id,
                updated_at=entry.updated_at,
                running=lookup(entry.session_id) is not None,
                title=None if deck is None else deck.title(entry.session_id),
            )
            for entry in with_pauses(self._parts.store.entries(), LIST_STEP)
        ]

    def set_title(self, session_id: str, title: str) -> str:
        """Name a conversation; the name without white space around it.

        `title`: 1 to 200 characters on one line.
        Raises InvalidInput, SessionNotFound, PersistenceError.  Blocks on: disk.
        """
        return self.deck().set_title(arguments.session_id(session_id), title)

    def compact_session(self, session_id: str) -> tuple[int, int]:
        """Rewrite the stored conversation as one record a turn; bytes before and after.

        Nothing is lost, unless `storage.max_turns` is set.  Raises SessionNotFound (also without
        storage), CorruptHistory, PersistenceError.  Blocks on: disk.
        """
        pair = self._running(session_id)
        if self.settings.storage.directory is None:
            raise SessionNotFound
        if pair is not None:
            return ask(lambda: pair.history, pair, Compact())
        with self._pool().exclusive(session_id):
            pair = self._running(session_id)  # it may have been resumed while this waited
            if pair is None:
                return self._parts.compact_stopped(session_id)
        return ask(lambda: pair.history, pair, Compact())

    def repair_session(self, session_id: str) -> RepairReport:
        """Make a corrupt conversation usable: the turns before the damage; the old file is kept.

        Raises SessionNotFound, AlreadyRunning, PersistenceError.  Blocks on: disk.
        """
        id_ = arguments.session_id(session_id)
        with self._pool().exclusive(id_):
            return self._parts.store.repair(id_)

    def export_session(self, session_id: str, format_: ExportFormat = "jsonl") -> str:
        """The conversation as JSON Lines (one turn a line) or Markdown.  Raises as `history`."""
        return exported(session_id, self.history(session_id), format_)

    # -- what it cost ------------------------------------------------------------------------------

    def usage(self, *, recent: int = 20) -> dict[str, Any]:
        """Totals, totals per route, provider and model, per day, and the latest turns.

        The parts are separate reads, not one snapshot.  Raises InvalidInput, LedgerUnavailable.
        """
        return self._ledger().usage(arguments.recent(recent))

    def session_usage(self, session_id: str) -> dict[str, Any]:
        """What the ledger counted for one session.  Raises SessionNotFound, LedgerUnavailable."""
        id_ = arguments.session_id(session_id)
        return self._ledger().session_usage(id_)

    # -- devices -----------------------------------------------------------------------------------

    def deck(self) -> Deck:
        """The running deck.  Raises SessionStopped while there is none."""
        deck = self._parts.tree.deck if self._started else None
        if deck is None:
            raise SessionStopped("the deck is not running")
        return deck

    # -- inside ------------------------------------------------------------------------------------

    def _control_calls(self) -> Mapping[str, Call]:
        return control_calls(self)

    def _options(
        self, handler: str | TurnHandler | None, turn_timeout_ms: int | None
    ) -> tuple[TurnHandler, int]:
        chosen = self._parts.handlers.find(handler)
        default_ms = self.settings.runtime.turn_timeout_ms
        return chosen, arguments.turn_timeout_ms(turn_timeout_ms, default_ms)

    def _delete(self, pool: SessionPool, session_id: str) -> bool:
        deck = self._parts.tree.deck
        if deck is None:
            return pool.delete_session(session_id)
        with pool.exclusive(session_id), deck.deletion(session_id) as let_go:
            return pool.delete_session(session_id, let_go)

    def _running(self, session_id: str) -> SessionSupervisor | None:
        id_ = arguments.session_id(session_id)
        self._pool()
        return self._parts.tree.registry.lookup(id_)

    def _pair(self, session_id: str) -> SessionSupervisor:
        pair = self._running(session_id)
        if pair is None:
            raise SessionNotFound
        return pair

    def _through_deck(self, session_id: str, message: Submit, origin: Origin) -> TurnReceipt | None:
        """Run the turn where devices see it; None where there is none, or it has a person."""
        deck = self._parts.tree.deck
        if deck is None or message.interaction is not None:
            return None
        door = Door(
            message.turn_id, message.text, message.route, message.tools, message.on_text, origin
        )
        return deck.submit(session_id, door)
