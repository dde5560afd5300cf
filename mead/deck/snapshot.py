"""`session.snapshot`: what a device is told of the state before the replay.  Pure."""

from typing import Any, NamedTuple

from mead.config.settings import DeckSettings, PolicyLevel
from mead.deck.entries import RunningTurn
from mead.deck.frames import Resume
from mead.deck.protocol import FRAME_BYTES, TEXT_CHARACTERS
from mead.deck.state import DeckState


class Replay(NamedTuple):
    """Where the replay to one socket begins, and why it may not continue what the client has."""

    after: int
    """Events beyond this sequence are sent."""
    reset: bool
    """The client's events are of another log (or of a future that was lost): it forgets them."""
    gap: bool
    """Events that the client has not seen are gone."""


def replay_for(resume: Resume, state: DeckState, log_id: str) -> Replay:
    """What a client that resumes so is sent."""
    oldest = state.first_sequence - 1
    if resume.log_id not in (None, log_id) or resume.last_sequence > state.last_sequence:
        return Replay(oldest, reset=True, gap=False)
    if resume.last_sequence < oldest:
        return Replay(oldest, reset=False, gap=True)
    return Replay(resume.last_sequence, reset=False, gap=False)


def standing(state: DeckState, default_level: PolicyLevel) -> dict[str, Any]:
    """The part of the snapshot that a client's own fold of the events comes to as well."""
    return {
        "turn": None if state.turn is None else _turn(state.turn),
        "queue": [prompt.payload for prompt in state.queue.values()],
        "policy_level": state.policy_level or default_level,
        "remembered_tools": sorted(state.remembered),
        "pending": [request.payload for request in state.pending.values()],
        "title": state.title,
    }


def snapshot(
    state: DeckState,
    replay: Replay,
    settings: DeckSettings,
    *,
    session_id: str,
    log_id: str,
    durable: bool,
    title: str | None,
) -> dict[str, Any]:
    """The payload.  `title`: the name that the conversation was given, if any."""
    payload = {
        "session_id": session_id,
        "log_id": log_id,
        "first_sequence": state.first_sequence,
        "last_sequence": state.last_sequence,
        "reset": replay.reset,
        "gap": replay.gap,
        "durable": durable,
        **standing(state, settings.default_policy_level),
        "limits": limits(settings),
    }
    if title is not None:
        payload["title"] = title
    return payload


def limits(settings: DeckSettings) -> dict[str, int]:
    """What a client has to keep to."""
    return {
        "frame_bytes": FRAME_BYTES,
        "text_characters": TEXT_CHARACTERS,
        "heartbeat_ms": settings.heartbeat_ms,
        "idle_timeout_ms": settings.idle_timeout_ms,
        "queue_limit": settings.queue_limit,
    }


def _turn(turn: RunningTurn) -> dict[str, Any]:
    return {
        "turn_id": turn.prompt.turn_id,
        "client_message_id": turn.prompt.client_message_id,
        "started_at": turn.started_at,
        "open_calls": list(turn.open_calls.values()),
    }
