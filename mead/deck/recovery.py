"""What a new channel adds to its log before it serves anyone.  Pure.

Only what is missing is added: the end of a turn that was cut off, the turns that the stored history
has and the log has not.  A prompt that never started is left in the queue and runs.
Source: SPEC section 8, "Recovery".
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from mead.deck import builders
from mead.deck.endings import close_turn, whole
from mead.deck.entries import Prompt
from mead.deck.events import NewEvent
from mead.deck.fold import KNOWN_PROMPTS
from mead.deck.state import DeckState
from mead.ids import new_uuid
from mead.protocols import Origin
from mead.turn import Turn, TurnStatus, iso_ms

STALE_AFTER: Final = timedelta(hours=1)
"""Who asked so long ago does not wait for an answer any more."""

EVENTS_OF_A_TURN: Final = 7
"""The fewest that a stored turn comes to; bounds how many are added to a new log."""


def recover(
    state: DeckState, history: Sequence[Turn], now: datetime, event_log_limit: int
) -> list[NewEvent]:
    """The events that are missing, in their order."""
    closed = {turn.id: turn for turn in history if turn.status is not TurnStatus.RUNNING}
    events: list[NewEvent] = []
    if state.turn is not None:
        events += close_turn(state, closed.get(state.turn.prompt.turn_id))
    events += made_elsewhere(state, history, event_log_limit)
    for prompt in state.queue.values():
        events += _waiting(prompt, closed, now)
    return events


def _waiting(prompt: Prompt, closed: Mapping[str, Turn], now: datetime) -> list[NewEvent]:
    turn = closed.get(prompt.turn_id)
    if turn is not None:
        return whole(turn)
    if now - datetime.fromisoformat(prompt.accepted_at) > STALE_AFTER:
        return [builders.prompt_cancelled(prompt.client_message_id, prompt.turn_id, "stale")]
    return []


def made_elsewhere(
    state: DeckState,
    history: Sequence[Turn],
    event_log_limit: int,
    origins: Mapping[str, Origin] = MappingProxyType({}),
) -> list[NewEvent]:
    """Every closed turn that the log does not know and that is newer than the first it knows.

    Of a log that knows none the newest.  `origins`: the doors, by turn_id, of turns that are known
    to be missing.
    """
    events: list[NewEvent] = []
    for turn in _unknown(state, history, origins)[-_ceiling(event_log_limit, EVENTS_OF_A_TURN) :]:
        events.append(
            builders.prompt_accepted(
                client_message_id=new_uuid(),
                turn_id=turn.id,
                text=turn.input,
                route=None,
                origin=origins.get(turn.id, "api"),
                at=iso_ms(turn.started_at),
            )
        )
        events += whole(turn)
    return events


def _unknown(
    state: DeckState, history: Sequence[Turn], origins: Mapping[str, Origin]
) -> list[Turn]:
    known = {known.turn_id for known in state.known.values()}
    logged_until = _logged_until(state)
    first = next((place for place, turn in enumerate(history) if turn.id in known), 0)

    def is_newer(place: int, turn: Turn) -> bool:
        return place >= first and (logged_until is None or turn.started_at > logged_until)

    return [
        turn
        for place, turn in enumerate(history)
        if turn.id not in known
        and turn.status is not TurnStatus.RUNNING
        and (turn.id in origins or is_newer(place, turn))
    ]


def _ceiling(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _logged_until(state: DeckState) -> datetime | None:
    """No turn that began before is missing; None while every turn of the log is known by its id.

    A log that has begun to forget ids may hold a turn that it does not know any more.
    """
    if state.last_at is None or len(state.known) < KNOWN_PROMPTS:
        return None
    return datetime.fromisoformat(state.last_at)
