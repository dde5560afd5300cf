"""What each frame of a device does to its conversation."""

from collections.abc import Sequence
from typing import assert_never

from mead.deck import builders
from mead.deck.entries import Known
from mead.deck.feed import Feed
from mead.deck.frames import (
    CancelPrompt,
    CancelToolCall,
    CancelTurn,
    ClientFrame,
    ExtendRequest,
    ForgetPermission,
    FrameFault,
    PromptFault,
    RespondChoice,
    RespondPermission,
    Resume,
    SendPrompt,
    SetPolicy,
)
from mead.deck.recorder import Recorder
from mead.deck.requests import Requests
from mead.deck.turns import Turns
from mead.ids import new_turn_id

NOTHING: Sequence[int] = ()


class Commands:
    """Used by its channel alone."""

    def __init__(
        self, recorder: Recorder, requests: Requests, turns: Turns, queue_limit: int
    ) -> None:
        self._recorder = recorder
        self._requests = requests
        self._turns = turns
        self._queue_limit = queue_limit

    @property
    def is_queue_full(self) -> bool:
        """Whether one more prompt would be too many.

        A full log takes one only where nothing runs or waits: before that one it can be cut.
        """
        log, state = self._recorder.log, self._recorder.state
        return len(state.queue) >= self._queue_limit or (log.is_full and not state.is_idle)

    def obey(self, feed: Feed, frame: ClientFrame) -> Sequence[int]:  # noqa: C901 - one case a line
        """Do what the frame says; the sequences of events that this device is to be sent again.

        Raises FrameFault, PromptFault.
        """
        match frame:
            case SendPrompt():
                return self._send(feed, frame)
            case CancelPrompt():
                return self._cancel_prompt(frame)
            case CancelTurn():
                return self._cancel_turn(frame)
            case CancelToolCall():
                return self._cancel_call(frame)
            case RespondPermission():
                return self._requests.respond_permission(frame, feed.device)
            case RespondChoice():
                return self._requests.respond_choice(frame, feed.device)
            case ExtendRequest():
                return self._requests.extend(frame, feed.device)
            case ForgetPermission():
                return self._forget(feed, frame)
            case SetPolicy():
                self._requests.set_policy(frame.level, feed.device)
                return NOTHING
            case Resume():
                raise FrameFault("already_resumed", "session.resume")
            case _:
                assert_never(frame)

    def _send(self, feed: Feed, frame: SendPrompt) -> Sequence[int]:
        known = self._recorder.state.known.get(frame.client_message_id)
        if known is not None:
            return self._again(known, "prompt.send", frame.client_message_id)
        if self.is_queue_full:
            raise PromptFault(frame.client_message_id, "queue_full")
        self._turns.accept(
            builders.prompt_accepted(
                client_message_id=frame.client_message_id,
                turn_id=new_turn_id(),
                text=frame.text,
                route=frame.route,
                origin="deck",
                device_id=feed.device,
            )
        )
        return NOTHING

    def _again(self, known: Known, type_: str, id_: str) -> Sequence[int]:
        """The events of a prompt that was seen before, unless they were compacted away."""
        if known.accepted < self._recorder.state.first_sequence:
            raise FrameFault("already_finished", type_, id_)
        ending = () if known.ending is None else (known.ending,)
        return (known.accepted, *ending)

    def _cancel_prompt(self, frame: CancelPrompt) -> Sequence[int]:
        known = self._recorder.state.known.get(frame.client_message_id)
        return self._cancel_waiting(known, "prompt.cancel", frame.client_message_id)

    def _cancel_turn(self, frame: CancelTurn) -> Sequence[int]:
        if self._turns.runs(frame.turn_id) is not None:
            self._turns.cancel(frame.turn_id)
            return NOTHING
        known = self._recorder.state.known_turn(frame.turn_id)
        return self._cancel_waiting(known, "turn.cancel", frame.turn_id)

    def _cancel_waiting(self, known: Known | None, type_: str, id_: str) -> Sequence[int]:
        if known is None:
            raise FrameFault("unknown_id", type_, id_)
        if self._turns.take_out(known.turn_id, "by_person"):
            return NOTHING
        if known.is_started:
            raise FrameFault(
                "already_started" if known.ending is None else "already_finished", type_, id_
            )
        return self._again(known, type_, id_)

    def _cancel_call(self, frame: CancelToolCall) -> Sequence[int]:
        if not self._turns.cancel_call(frame.call_id):
            turn = self._recorder.state.turn
            is_closed = turn is not None and frame.call_id in turn.closed_calls
            reason = "already_finished" if is_closed else "unknown_id"
            raise FrameFault(reason, "tool_call.cancel", frame.call_id)
        return NOTHING

    def _forget(self, feed: Feed, frame: ForgetPermission) -> Sequence[int]:
        if frame.tool not in self._recorder.state.remembered:
            raise FrameFault("unknown_tool", "permission.forget")
        self._recorder.record([builders.permission_forgotten(frame.tool, feed.device)])
        return NOTHING
