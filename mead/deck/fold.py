"""How each event changes the state of a deck.  Pure.

`apply` serves an event that was just logged and one that is read back after a restart alike; so a
recovered deck cannot differ from the one that died.  An event that cannot follow the ones before
raises KeyError, TypeError or ValueError, which the reader of a log takes for damage.  What belongs
to a turn that is not the running one (its beginning was compacted away) changes nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from mead.deck.entries import Known, Prompt, Request, RunningTurn
from mead.deck.events import Event, EventType
from mead.deck.naming import default_title
from mead.deck.state import DeckState

KNOWN_PROMPTS: Final = 1000
"""So many of the newest client_message_ids are remembered; those that run or wait in any case."""
KNOWN_RESOLUTIONS: Final = 1000
"""So many of the newest answers can be told again to a device that answers late."""


def apply(state: DeckState, event: Event) -> None:
    """Take the next event."""
    if event.sequence != state.last_sequence + 1:
        raise ValueError(f"event {event.sequence} where {state.last_sequence + 1} was due")
    _CHANGES[event.type](state, event)
    state.last_sequence = event.sequence
    state.last_at = event.at


def _prompt_accepted(state: DeckState, event: Event) -> None:
    payload = event.payload
    prompt = Prompt(
        client_message_id=payload["client_message_id"],
        turn_id=payload["turn_id"],
        text=payload["text"],
        route=payload["route"],
        origin=payload["origin"],
        accepted_at=event.at,
        payload=payload,
    )
    if state.is_idle:
        state.quiet.append(event.sequence)
    if state.title is None:
        state.title = default_title(prompt.text) or None
    state.queue[prompt.turn_id] = prompt
    state.known[prompt.client_message_id] = Known(prompt.turn_id, event.sequence)
    _forget_finished(state)


def _prompt_cancelled(state: DeckState, event: Event) -> None:
    state.queue.pop(event.payload["turn_id"], None)
    _note_ending(state, event)


def _turn_started(state: DeckState, event: Event) -> None:
    prompt = state.queue.pop(event.payload["turn_id"])
    if state.turn is not None:
        raise ValueError("a turn started while another ran")
    state.turn = RunningTurn(prompt=prompt, started_at=event.at)
    known = state.known.get(prompt.client_message_id)
    if known is not None:
        known.is_started = True


def _text_delta(state: DeckState, event: Event) -> None:
    if (turn := _running(state, event)) is not None:
        turn.text.append(event.payload["text"])


def _tool_call_started(state: DeckState, event: Event) -> None:
    if (turn := _running(state, event)) is not None:
        turn.open_calls[event.payload["call_id"]] = event.payload


def _tool_call_finished(state: DeckState, event: Event) -> None:
    if (turn := _running(state, event)) is not None:
        turn.open_calls.pop(event.payload["call_id"], None)
        turn.closed_calls.add(event.payload["call_id"])


def _permission_requested(state: DeckState, event: Event) -> None:
    if _running(state, event) is not None:
        request = Request(kind="permission", payload=event.payload)
        state.pending[event.payload["request_id"]] = request


def _permission_resolved(state: DeckState, event: Event) -> None:
    remember = event.payload.get("remember")
    if remember is not None:
        state.remembered.add(remember)
    _resolve(state, event)


def _choice_requested(state: DeckState, event: Event) -> None:
    if _running(state, event) is not None:
        request = Request(kind="choice", payload=event.payload)
        state.pending[event.payload["request_id"]] = request


def _resolve(state: DeckState, event: Event) -> None:
    request_id = event.payload["request_id"]
    state.pending.pop(request_id, None)
    state.resolved[request_id] = event.sequence
    _trim(state.resolved, KNOWN_RESOLUTIONS)


def _request_extended(state: DeckState, event: Event) -> None:
    request_id, expires_at = event.payload["request_id"], event.payload["expires_at"]
    request = state.pending.get(request_id)
    if request is not None:
        payload = {**request.payload, "expires_at": expires_at}
        state.pending[request_id] = replace(
            request, payload=payload, extensions=request.extensions + 1
        )


def _permission_forgotten(state: DeckState, event: Event) -> None:
    state.remembered.discard(event.payload["tool"])


def _policy_updated(state: DeckState, event: Event) -> None:
    state.policy_level = event.payload["level"]


def _session_titled(state: DeckState, event: Event) -> None:
    state.title = event.payload["title"]


def _turn_ended(state: DeckState, event: Event) -> None:
    _note_ending(state, event)
    if (turn := _running(state, event)) is not None:
        turn.is_over = True
        turn.open_calls.clear()
        state.pending.clear()


def _metric_updated(state: DeckState, event: Event) -> None:
    turn = _running(state, event)
    if turn is None:
        return
    turn.metrics.add(event.payload["name"])
    if event.payload["name"] == "tokens_out":
        state.turn = None


def _note_ending(state: DeckState, event: Event) -> None:
    known = state.known_turn(event.payload["turn_id"])
    if known is not None:
        known.ending = event.sequence


def _running(state: DeckState, event: Event) -> RunningTurn | None:
    turn = state.turn
    if turn is None or turn.prompt.turn_id != event.payload["turn_id"]:
        return None
    return turn


def _forget_finished(state: DeckState) -> None:
    """Let the oldest client_message_ids go, but none whose prompt runs or waits."""
    excess = len(state.known) - KNOWN_PROMPTS
    if excess <= 0:
        return
    open_ids = {prompt.client_message_id for prompt in state.open_prompts}
    finished = (id_ for id_ in state.known if id_ not in open_ids)
    for id_ in list(islice(finished, excess)):
        del state.known[id_]


def _trim(entries: dict[str, Any], maximum: int) -> None:
    while len(entries) > maximum:
        del entries[next(iter(entries))]


_CHANGES: Final[Mapping[EventType, Callable[[DeckState, Event], None]]] = {
    "prompt.accepted": _prompt_accepted,
    "prompt.cancelled": _prompt_cancelled,
    "turn.started": _turn_started,
    "turn.routed": lambda _state, _event: None,  # the transcript alone shows it
    "text.delta": _text_delta,
    "tool_call.started": _tool_call_started,
    "tool_call.finished": _tool_call_finished,
    "permission.requested": _permission_requested,
    "permission.resolved": _permission_resolved,
    "permission.forgotten": _permission_forgotten,
    "request.extended": _request_extended,
    "choice.requested": _choice_requested,
    "choice.resolved": _resolve,
    "policy.updated": _policy_updated,
    "session.titled": _session_titled,
    "turn.completed": _turn_ended,
    "turn.failed": _turn_ended,
    "metric.updated": _metric_updated,
}
