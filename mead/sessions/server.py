"""The server of one conversation: runs its turns one at a time.  Source: seed A3, SPEC section 3.

The way of a turn: `Submit` arrives -> it waits behind the running one, or starts at once -> the
history records it (write-first) -> a task runs the handler under a deadline -> the task's end, a
deadline or a cancel closes it in the history -> the submitter gets its receipt -> the next starts.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

from mead.actors.actor import NO_REPLY, Actor, ActorRef, Reply
from mead.actors.exits import Exit, Outcome
from mead.actors.tasks import Task, TaskSupervisor
from mead.errors import (
    Busy,
    MeadError,
    SessionCrashed,
    SessionNotFound,
    SessionStopped,
    TurnCancelled,
    TurnError,
    TurnTimeout,
)
from mead.protocols import Interaction, TurnContext, TurnHandler, TurnReceipt
from mead.sessions.activity import Activity
from mead.sessions.deadline import Deadline
from mead.sessions.history import Append, Close, Interrupt
from mead.sessions.results import result_of
from mead.turn import (
    NO_FACTS,
    RequestedRoute,
    ToolLevel,
    Turn,
    TurnFacts,
    TurnFault,
    TurnStatus,
    utc_now,
)

WAITING_LIMIT: Final = 10
"""Turns that may wait behind the running one (SPEC section 3)."""

_STATUS: Final[dict[type[TurnError], TurnStatus]] = {
    TurnTimeout: TurnStatus.TIMEOUT,
    TurnCancelled: TurnStatus.CANCELLED,
}


class Submit(NamedTuple):
    """Run a turn.  Answers a TurnReceipt; raises Busy, PersistenceError, TurnError."""

    turn_id: str
    id_was_given: bool
    text: str
    route: RequestedRoute | None
    tools: ToolLevel | None
    interaction: Interaction | None
    on_text: Callable[[str], None] | None = None


class Cancel(NamedTuple):
    """End that turn, running or waiting; None means the running one.  Raises SessionNotFound."""

    turn_id: str | None


class _TurnEnded(NamedTuple):
    turn_id: str
    outcome: Outcome[str]


class _TurnExpired(NamedTuple):
    turn_id: str


class _Running:
    """The turn that runs now, and all that ends with it."""

    __slots__ = ("deadline", "facts", "reply", "task", "turn")

    def __init__(self, turn: Turn, reply: Reply) -> None:
        self.turn = turn
        self.reply = reply
        self.facts = NO_FACTS
        """Written by the turn's task alone, read here once it has ended."""
        self.deadline: Deadline
        self.task: Task[str]

    def report(self, facts: TurnFacts) -> None:
        if not isinstance(cast(object, facts), TurnFacts):  # a handler is not always typed
            raise TypeError("report takes TurnFacts")
        self.facts = facts


class SessionServer(Actor):
    """Owns the queue and the running turn of one conversation."""

    def __init__(
        self,
        session_id: str,
        *,
        history: ActorRef,
        handler: TurnHandler,
        turn_timeout_ms: int,
        turns: TaskSupervisor,
        activity: Activity,
    ) -> None:
        self.name = f"server of {session_id}"
        self._session_id = session_id
        self._history = history
        self._handler = handler
        self._turn_timeout_ms = turn_timeout_ms
        self._turns = turns
        self._activity = activity
        self._waiting: deque[tuple[Submit, Reply]] = deque()
        self._running: _Running | None = None
        self._durable = True
        """Whether the last closing was stored: most likely the next one will be, too."""

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        """Mark the turn that died with an earlier server of this session.  Blocks on: history."""
        self._activity.set(busy=False)
        self._history.call(Interrupt(), None)

    def on_stop(self, exit_: Exit) -> None:
        """Answer everyone who waits; a turn cut short by a stop is recorded as interrupted."""
        in_order = exit_.kind == "normal" and self._history.alive
        error = SessionStopped() if in_order else SessionCrashed()
        running, self._running = self._running, None
        if running is not None:
            running.deadline.cancel()
            running.task.kill()
            if self._history.alive:
                self._history.call(Interrupt(), None)
            self.answer(running.reply, error)
        for _, reply in self._waiting:
            self.answer(reply, error)

    def handle_call(self, message: Any, reply: Reply) -> Any:
        """See Submit and Cancel."""
        match message:
            case Submit():
                return self._submit(message, reply)
            case Cancel():
                return self._cancel(message.turn_id)
            case _:
                raise TypeError(f"{self.name} does not take {type(message).__name__}")

    def handle_cast(self, message: Any) -> None:
        """The running turn's end; what an earlier turn's task or timer still says is ignored."""
        running = self._running
        if running is None or running.turn.id != message.turn_id:
            return
        if isinstance(message, _TurnExpired):
            if not running.deadline.is_paused:
                self._end(TurnTimeout())
        else:
            self._end(result_of(message.outcome))

    # -- a turn's way ------------------------------------------------------------------------------

    def _submit(self, submit: Submit, reply: Reply) -> object:
        if self._running is None:
            try:
                self._begin(submit, reply)
            except MeadError:
                self._activity.set(busy=False)
                raise
        elif len(self._waiting) >= WAITING_LIMIT:
            raise Busy
        else:
            self._waiting.append((submit, reply))
        return NO_REPLY

    def _begin(self, submit: Submit, reply: Reply) -> None:
        """Record the turn and start its task.  Raises PersistenceError, InvalidInput."""
        self._activity.set(busy=True)
        turn = Turn(id=submit.turn_id, input=submit.text, started_at=utc_now())
        earlier = self._history.call(Append(turn, submit.id_was_given), None)
        running = self._running = _Running(turn, reply)
        running.deadline = Deadline(self.ref, self._turn_timeout_ms, _TurnExpired(turn.id))
        context = TurnContext(
            session_id=self._session_id,
            turn_id=turn.id,
            route=submit.route,
            tools=submit.tools,
            interaction=submit.interaction,
            on_text=submit.on_text,
            clock=running.deadline,
            report=running.report,
        )
        handle, text, ref = self._handler.handle_turn, submit.text, self.ref
        running.task = self._turns.start(
            lambda: handle(earlier, text, context),
            name=turn.id,
            on_end=lambda outcome: ref.cast(_TurnEnded(turn.id, outcome)),
        )
        self.link(running.task)

    def _end(self, result: str | TurnError) -> None:
        """Close the running turn, tell its submitter, start the next."""
        running, self._running = self._running, None
        if running is None:
            return
        running.deadline.cancel()
        running.task.kill()
        self.unlink(running.task)
        turn: Turn = self._history.call(Close(self._closed(running, result)), None)
        self._durable = turn.durable
        if isinstance(result, str):
            self.answer(running.reply, TurnReceipt(output=result, turn=turn))
        else:
            self.answer(running.reply, result)
        self._begin_next()

    def _closed(self, running: _Running, result: str | TurnError) -> Turn:
        if isinstance(result, str):
            status, output, fault = TurnStatus.COMPLETED, result, None
        else:
            status, output = _STATUS.get(type(result), TurnStatus.FAILED), None
            fault = TurnFault(code=result.turn_code, message=result.message)
        return running.turn.closed(
            status, output=output, error=fault, facts=running.facts, durable=self._durable
        )

    def _begin_next(self) -> None:
        while self._running is None and self._waiting:
            submit, reply = self._waiting.popleft()
            try:
                self._begin(submit, reply)
            except MeadError as error:
                self.answer(reply, error)
        if self._running is None:
            self._activity.set(busy=False)

    def _cancel(self, turn_id: str | None) -> None:
        if self._running is not None and turn_id in (None, self._running.turn.id):
            self._end(TurnCancelled())
            return
        for entry in self._waiting:
            submit, reply = entry
            if submit.turn_id == turn_id:
                self._waiting.remove(entry)
                self.answer(reply, TurnCancelled())
                return
        raise SessionNotFound("no turn of this session with that id is running or waiting")
