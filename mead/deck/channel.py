"""The channel: the actor behind one conversation's deck.  Source: seed A9, SPEC section 8.

It owns the event sequence, the queue and the running turn, so a reconnect or a second device finds
the same state.  The log is the truth: what cannot be logged ends the channel (its sockets close
with 1011), and the next one begins with what the log holds.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from mead.actors.actor import NO_REPLY, Actor, Reply
from mead.actors.exits import Exit
from mead.actors.timer import Timer
from mead.deck import builders, messages
from mead.deck.closing import FAILED, GONE, RESTART, STOPPED, Closing
from mead.deck.commands import Commands
from mead.deck.event_log import EventLog
from mead.deck.feed import Feed
from mead.deck.frames import FrameFault, PromptFault
from mead.deck.recorder import LogFailed, Recorder, tell
from mead.deck.recovery import recover
from mead.deck.requests import Requests
from mead.deck.snapshot import replay_for, snapshot
from mead.deck.state import DeckState
from mead.deck.surroundings import Surroundings
from mead.deck.turns import Turns
from mead.errors import Busy, InvalidInput, PersistenceError, SessionNotFound
from mead.ids import new_uuid
from mead.turn import utc_now

log = logging.getLogger(__name__)

LAST_TURN_MS: Final = 2000
"""How long the running turn of an ended session may take to say so."""
BACKFILL_EVENTS: Final = 500
"""Written at once when a new log takes over a stored conversation."""


class Channel(Actor):
    """One conversation's deck.  `Said` answers refusals as values: raising would be a crash."""

    def __init__(
        self,
        session_id: str,
        surroundings: Surroundings,
        open_log: Callable[[], tuple[EventLog, DeckState]],
    ) -> None:
        self.name = f"channel of {session_id}"
        self._session_id = session_id
        self._around = surroundings
        self._open_log = open_log
        self._devices = 0
        self._idle: Timer | None = None
        self._idle_number = 0
        self._last_turn: Timer | None = None
        self._closing: Closing | None = None
        """How the sockets are closed, once it is certain that the channel ends."""
        self._is_deleting = False
        self._letting_go: Reply | None = None
        """Whoever waits to remove the files."""
        self._recorder: Recorder

    @property
    def state(self) -> DeckState:
        """What it knows, to look at."""
        return self._recorder.state

    @property
    def is_attached(self) -> bool:
        """Whether a device is here, or a turn runs or waits; readable by anyone."""
        return bool(self._recorder.feeds) or not self._recorder.state.is_idle

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        """Open the log and add what it lacks, before anyone is served.

        Raises PersistenceError, SessionNotFound and what the history raises.
        Blocks on: disk, session.
        """
        around, settings = self._around, self._around.settings
        events, state = self._open_log()
        self._recorder = Recorder(events, state)
        try:
            self._recover()
        except LogFailed as error:
            events.close()
            raise PersistenceError(str(error)) from None
        except BaseException:
            events.close()
            raise
        self._requests = Requests(self, self._recorder, settings)
        self._turns = Turns(
            self,
            self._recorder,
            self._requests,
            session_id=self._session_id,
            api=around.api,
            tasks=around.tasks,
            event_log_limit=settings.event_log_limit,
        )
        self._commands = Commands(self._recorder, self._requests, self._turns, settings.queue_limit)
        self._watch_idleness()

    def on_stop(self, exit_: Exit) -> None:
        """Close what is still open.  Blocks on: disk."""
        closing = self._closing or (RESTART if exit_.kind == "normal" else FAILED)
        if exit_.kind != "normal":
            log.warning("%s ended: %s", self.name, exit_.cause)
        for feed in self._recorder.feeds:
            feed.socket.close(*closing)
        for timer in (self._idle, self._last_turn):
            if timer is not None:
                timer.cancel()
        self._requests.release_all()
        self._recorder.log.close()

    def handle_call(self, message: Any, reply: Reply) -> Any:
        match message:
            case messages.Said():
                return self._said(message)
            case messages.Authorize():
                return self._turns.authorize(message, reply)
            case messages.Choose():
                return self._turns.choose(message, reply)
            case messages.Attach():
                return self._attach(message)
            case messages.Door():
                return self._door(message, reply)
            case messages.CancelQueued():
                return self._closing is None and self._turns.take_out(message.turn_id, "by_person")
            case messages.Retitle():
                return self._retitle(message)
            case messages.LetGo():
                return self._let_go(reply)
            case _:
                raise TypeError(f"{self.name} does not take {type(message).__name__}")

    def handle_cast(self, message: Any) -> None:
        match message:
            case messages.Grew():
                self._turns.grew(message.turn_id)
            case messages.Flush():
                self._turns.flush(message.turn_id)
            case messages.Routed():
                self._turns.routed(message)
            case messages.CallFinished():
                self._turns.call_finished(message)
            case messages.TurnEnded():
                self._turn_ended(message)
            case messages.AskerGone():
                self._requests.asker_gone(message)
            case messages.Expire():
                self._requests.expire(message)
            case messages.Detach():
                self._detach(message.feed)
            case _:
                self._handle_end(message)

    def _handle_end(self, message: Any) -> None:
        match message:
            case messages.Begin():
                self._turns.start_next()
            case messages.IdleEnd():
                self._idle_end(message.number)
            case messages.MadeElsewhere():
                if self._closing is None:  # else the next channel finds it in the history
                    self._turns.made_elsewhere(message)
            case messages.Deleting():
                self._is_deleting = True
            case messages.Deleted():
                self._deletion_ended(message)
            case messages.SessionEnded():
                self._session_ended(message.exit)
            case messages.GiveUpWaiting():
                self._turns.give_up()
                self._finish_if_over()
            case messages.Drain():
                self._turns.is_closed = True
                self._requests.expire_all()
            case _:
                raise TypeError(f"{self.name} does not take {type(message).__name__}")

    # -- devices -----------------------------------------------------------------------------------

    def _attach(self, message: messages.Attach) -> Feed | None:
        if self._closing is not None:
            return None
        recorder = self._recorder
        events, state, socket = recorder.log, recorder.state, message.socket
        replay = replay_for(message.resume, state, events.log_id)
        self._devices += 1
        device = message.resume.device_id or f"device-{self._devices}"
        feed = Feed(socket, device, events, state, replay.after)
        tell(
            socket,
            "session.snapshot",
            snapshot(
                state,
                replay,
                self._around.settings,
                session_id=self._session_id,
                log_id=events.log_id,
                durable=events.durable,
                title=self._around.titles.get(self._session_id),
            ),
            counts=False,
        )
        recorder.feeds.append(feed)
        self._watch_idleness()
        return feed

    def _detach(self, feed: Feed) -> None:
        with suppress(ValueError):  # it was closed by this channel
            self._recorder.feeds.remove(feed)
        self._watch_idleness()

    def _said(self, message: messages.Said) -> messages.Answer:
        if self._closing is not None:
            return None
        try:
            return self._commands.obey(message.feed, message.frame)
        except (FrameFault, PromptFault) as fault:
            return fault
        finally:
            self._name()

    # -- other doors -------------------------------------------------------------------------------

    def _door(self, door: messages.Door, reply: Reply) -> object:
        """Queue a turn of another door; None from a channel that ends.

        Raises Busy, InvalidInput.
        """
        if self._closing is not None:
            return None
        if self._commands.is_queue_full:
            raise Busy
        if self._recorder.state.known_turn(door.turn_id) is not None:
            raise InvalidInput("turn_id: this session has a turn with that id already")
        prompt = builders.prompt_accepted(
            client_message_id=new_uuid(),
            turn_id=door.turn_id,
            text=door.text,
            route=door.route,
            origin=door.origin,
        )
        self._turns.accept(prompt, (door, reply))
        self._name()
        return NO_REPLY

    def _retitle(self, message: messages.Retitle) -> None:
        # Who comes later is told the name in the snapshot.
        if self._closing is not None or self._recorder.log.is_full:
            return
        self._recorder.record([builders.session_titled(message.title, message.device_id)])

    def _name(self) -> None:
        """Keep the title that the first prompt gives, for the list of conversations."""
        if self._is_deleting:
            return
        titles, title = self._around.titles, self._recorder.state.title
        if title is not None and titles.get(self._session_id) is None:
            titles.put_soon(self._session_id, title)

    # -- the end -----------------------------------------------------------------------------------

    def _turn_ended(self, message: messages.TurnEnded) -> None:
        self._turns.end(message.turn_id, message.outcome)
        self._finish_if_over()
        self._watch_idleness()

    def _session_ended(self, exit_: Exit) -> None:
        """The conversation was stopped or deleted, or it was lost to its restarts."""
        if self._closing is not None:
            return
        was_stopped = exit_.kind == "normal"
        self._closing = STOPPED if self._recorder.log.durable else GONE
        self._turns.is_closed = True
        if was_stopped:
            self._turns.take_out_all("stopped")
        self._last_turn = Timer(self.ref, LAST_TURN_MS, messages.GiveUpWaiting())
        self._finish_if_over()

    def _finish_if_over(self) -> None:
        if self._closing is None or self._turns.is_running:
            return
        if not self._is_deleting:
            self.ref.stop()
        elif self._letting_go is not None:
            for feed in self._recorder.feeds:
                feed.is_ending = True
            self._recorder.log.close()
            self.answer(self._letting_go, None)
            self._letting_go = None

    def _let_go(self, reply: Reply) -> object:
        self._is_deleting, self._letting_go = True, reply
        self._finish_if_over()
        return NO_REPLY

    def _deletion_ended(self, message: messages.Deleted) -> None:
        """Go on, or tell the devices what has become of the conversation."""
        self._is_deleting = False
        if message.is_removed:
            self._closing = GONE
        self._finish_if_over()

    def _watch_idleness(self) -> None:
        """Start or stop the clock of the idle end."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self.is_attached:
            self._idle_number += 1
            end = messages.IdleEnd(self._idle_number)
            self._idle = Timer(self.ref, self._around.idle_end_ms, end)

    def _idle_end(self, number: int) -> None:
        if number == self._idle_number and not self.is_attached and self._closing is None:
            self._closing = RESTART
            self.ref.stop()

    # -- the beginning -----------------------------------------------------------------------------

    def _recover(self) -> None:
        around, state = self._around, self._recorder.state
        if state.turn is not None:
            # It may run on: the channel that submitted it died, and its session did not.
            with suppress(SessionNotFound):
                around.api.cancel_turn(self._session_id, state.turn.prompt.turn_id)
        history = around.api.history(self._session_id)
        missing = recover(state, history, utc_now(), around.settings.event_log_limit)
        for start in range(0, len(missing), BACKFILL_EVENTS):
            self._recorder.record(missing[start : start + BACKFILL_EVENTS])
        if missing:
            log.info("%s: %d events were missing from its log", self.name, len(missing))
