"""The queue of one conversation and the turn that runs: from a prompt to the metrics at its end.

The way of a prompt: accepted and logged -> it waits, or its turn starts at once -> `turn.started`
is logged -> a task submits the turn under the published id -> text and tool calls are shown as
they come -> the ending is logged in one write -> the next starts.  Source: SPEC section 8.
"""

import logging
from typing import Any, NamedTuple

from mead.actors.actor import Actor, Reply
from mead.actors.exits import Outcome
from mead.actors.tasks import TaskSupervisor
from mead.deck import builders
from mead.deck.endings import close_turn
from mead.deck.entries import Prompt
from mead.deck.events import CancelReason, NewEvent
from mead.deck.live_turn import LiveTurn
from mead.deck.messages import (
    Authorize,
    CallFinished,
    Choose,
    Door,
    MadeElsewhere,
    Played,
    Routed,
    TurnEnded,
)
from mead.deck.play import cancel, play
from mead.deck.recorder import Recorder
from mead.deck.recovery import made_elsewhere
from mead.deck.requests import Requests
from mead.errors import MeadError, SessionCrashed, SessionStopped, TurnCancelled, TurnError
from mead.protocols import Origin, SessionAPI, TurnReceipt

log = logging.getLogger(__name__)


class _Guest(NamedTuple):
    """Whoever submitted a turn through another door, and what it asked for."""

    door: Door
    reply: Reply


class Turns:
    """Used by its channel alone."""

    def __init__(
        self,
        channel: Actor,
        recorder: Recorder,
        requests: Requests,
        *,
        session_id: str,
        api: SessionAPI,
        tasks: TaskSupervisor,
        event_log_limit: int,
    ) -> None:
        self._channel = channel
        self._recorder = recorder
        self._requests = requests
        self._session_id = session_id
        self._api = api
        self._tasks = tasks
        self._event_log_limit = event_log_limit
        self._guests: dict[str, _Guest] = {}
        self._elsewhere: dict[str, Origin] = {}
        """The doors of turns that ended and are not shown yet."""
        self._running: LiveTurn | None = None
        self.is_closed = False
        """Whether no turn is started any more."""

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self._running is not None

    def runs(self, turn_id: str) -> LiveTurn | None:
        """The running turn, if it is that one."""
        running = self._running
        return running if running is not None and running.turn_id == turn_id else None

    # -- the queue ---------------------------------------------------------------------------------

    def accept(self, prompt: NewEvent, guest: tuple[Door, Reply] | None = None) -> None:
        """Log a prompt.accepted; start its turn if nothing runs."""
        turn_id: str = prompt.payload["turn_id"]
        if guest is not None:
            self._guests[turn_id] = _Guest(*guest)
        starts = self._recorder.state.is_idle and not self.is_closed
        self._recorder.record([prompt, *([builders.turn_started(turn_id)] if starts else [])])
        if starts:
            self._start()

    def start_next(self) -> None:
        """Start the first prompt that waits, unless a turn runs."""
        state = self._recorder.state
        if state.turn is None and state.queue and not self.is_closed:
            self._recorder.record([builders.turn_started(next(iter(state.queue)))])
            self._start()

    def take_out(self, turn_id: str, reason: CancelReason) -> bool:
        """Cancel a prompt that waits; whether it did."""
        prompt = self._recorder.state.queue.get(turn_id)
        if prompt is None:
            return False
        self._recorder.record([_cancelled(prompt, reason)])
        self._answer(turn_id, SessionStopped() if reason == "stopped" else TurnCancelled())
        return True

    def take_out_all(self, reason: CancelReason) -> None:
        """Cancel every prompt that waits."""
        prompts = list(self._recorder.state.queue.values())
        self._recorder.record([_cancelled(prompt, reason) for prompt in prompts])
        for prompt in prompts:
            self._answer(prompt.turn_id, SessionStopped())

    # -- a turn's way ------------------------------------------------------------------------------

    def _start(self) -> None:
        """Run the turn whose turn.started is logged."""
        turn = self._recorder.state.turn
        assert turn is not None  # noqa: S101 - the caller has just logged its start
        prompt, ref = turn.prompt, self._channel.ref
        turn_id = prompt.turn_id
        running = self._running = LiveTurn(turn_id, ref, self._recorder)
        guest = self._guests.get(turn_id)
        if guest is None:
            # Of a prompt that another door left in the queue only what was shown is known.
            tools, on_text = ("effect" if prompt.origin == "deck" else None), None
        else:
            tools, on_text = guest.door.tools, guest.door.on_text
        running.task = self._tasks.start(
            lambda: play(
                self._api,
                self._session_id,
                turn_id,
                prompt.text,
                route=prompt.route,
                tools=tools,
                interaction=running.interaction,
                on_text=on_text,
            ),
            name=f"deck turn {turn_id}",
            on_end=lambda outcome: ref.cast(TurnEnded(turn_id, outcome)),
        )
        self._channel.link(running.task)

    def grew(self, turn_id: str) -> None:
        """The model has said more."""
        if (running := self.runs(turn_id)) is not None:
            running.grew()

    def flush(self, turn_id: str) -> None:
        """Show what the model has said; before anything else of the turn is shown."""
        if (running := self.runs(turn_id)) is not None:
            running.flush()

    def cancel(self, turn_id: str) -> None:
        """Have the running turn end as cancelled."""
        running = self.runs(turn_id)
        if running is None or running.is_cancelling:
            return
        running.is_cancelling = True
        running.flush()
        self._requests.withdraw_all()
        self._tasks.start(
            lambda: cancel(
                self._api, self._session_id, turn_id, lambda: self.runs(turn_id) is not None
            ),
            name="cancel",
        )

    # -- tool calls --------------------------------------------------------------------------------

    def authorize(self, asked: Authorize, reply: Reply) -> object:
        """Show a tool call and decide about it; answers a bool, now or later."""
        running = self.runs(asked.turn_id)
        if running is None or running.is_cancelling:
            return False
        running.flush()
        running.cancels[asked.use.call_id] = asked.cancel
        return self._requests.authorize(asked, reply)

    def choose(self, asked: Choose, reply: Reply) -> object:
        """Show a question; answers an option or None, later."""
        running = self.runs(asked.turn_id)
        if running is None or running.is_cancelling:
            return None
        running.flush()
        return self._requests.choose(asked, reply)

    def call_finished(self, message: CallFinished) -> None:
        """Close the card of a tool call."""
        running, turn = self.runs(message.turn_id), self._recorder.state.turn
        if running is None or turn is None or message.call_id not in turn.open_calls:
            return
        running.cancels.pop(message.call_id, None)
        self._recorder.record(
            [
                builders.tool_call_finished(
                    message.turn_id, message.call_id, message.status, message.summary
                )
            ]
        )

    def cancel_call(self, call_id: str) -> bool:
        """Stop a tool call; False when none is open under that id."""
        stop = None if self._running is None else self._running.cancels.pop(call_id, None)
        turn = self._recorder.state.turn
        if stop is None:
            return turn is not None and call_id in turn.open_calls
        stop()
        return True

    def routed(self, message: Routed) -> None:
        """The router has chosen."""
        if self.runs(message.turn_id) is not None:
            self._recorder.record([builders.turn_routed(message.turn_id, message.facts)])

    # -- turns that went another way ---------------------------------------------------------------

    def made_elsewhere(self, message: MadeElsewhere) -> None:
        """Show a turn that did not come through the channel; behind the one that runs."""
        if self._recorder.state.known_turn(message.turn_id) is None:
            self._elsewhere[message.turn_id] = message.origin
            if not self.is_running:
                self._catch_up()

    def _catch_up(self) -> None:
        origins, self._elsewhere = self._elsewhere, {}
        if not origins:
            return
        try:
            history = self._api.history(self._session_id)
        except MeadError:  # the conversation ends; the next channel finds them
            return
        state, limit = self._recorder.state, self._event_log_limit
        self._recorder.record(made_elsewhere(state, history, limit, origins))

    # -- its end -----------------------------------------------------------------------------------

    def end(self, turn_id: str, outcome: Outcome[Played]) -> None:
        """Log how the turn ended, tell its submitter, start the next."""
        running = self.runs(turn_id)
        if running is None:
            return
        unshown = running.take_text()
        self._running = None
        self._channel.unlink(running.task)
        if outcome.error is not None:
            log.error("a bug in a deck's turn: %s", type(outcome.error).__name__)
        played = outcome.value or Played(None, SessionCrashed("the turn could not be run"))
        if isinstance(played.result, SessionStopped):
            self.is_closed = True  # the session's own end is about to be told
        reason, message = _reason(played.result)
        self._recorder.record(
            close_turn(
                self._recorder.state,
                played.turn,
                unshown=unshown,
                reason=reason,
                message=message,
            )
        )
        self._requests.release_all()
        self._answer(turn_id, played.result)
        self._catch_up()
        self.start_next()

    def give_up(self) -> None:
        """The session has ended and its turn does not say so: log its end without it."""
        running = self._running
        if running is not None:
            running.task.kill()
            self.end(running.turn_id, Outcome(Played(None, SessionStopped())))

    def _answer(self, turn_id: str, result: TurnReceipt | MeadError) -> None:
        guest = self._guests.pop(turn_id, None)
        if guest is not None:
            self._channel.answer(guest.reply, result)


def _cancelled(prompt: Prompt, reason: CancelReason) -> NewEvent:
    return builders.prompt_cancelled(prompt.client_message_id, prompt.turn_id, reason)


def _reason(result: Any) -> tuple[str, str]:
    """Why there is no answer, where the history does not know."""
    if isinstance(result, TurnError):
        return result.turn_code, result.message
    if isinstance(result, MeadError):
        return result.code, result.message
    return "interrupted", ""
