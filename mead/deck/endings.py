"""How a turn ends in the log, whether it ends now or is found ended after a restart.  Pure."""

from mead.deck import builders
from mead.deck.events import NewEvent
from mead.deck.state import DeckState
from mead.turn import Turn, TurnStatus, Usage, iso_ms

INTERRUPTED_MESSAGE = "the server stopped while answering"


def close_turn(
    state: DeckState,
    turn: Turn | None,
    *,
    unshown: str = "",
    reason: str = "interrupted",
    message: str = INTERRUPTED_MESSAGE,
) -> list[NewEvent]:
    """What is missing at the end of the running turn.

    `turn`: as the history has closed it, if it has; otherwise `reason` and `message` say why there
    is no answer.  `unshown`: text that arrived and was not logged.
    """
    running = state.turn
    if running is None:
        return []
    turn_id = running.prompt.turn_id
    if running.is_over:
        missing = builders.metrics(turn_id, *_tokens(turn))
        return [each for each in missing if each.payload["name"] not in running.metrics]
    shown = "".join(running.text) + unshown
    return [
        *builders.text_deltas(turn_id, unshown + _rest(turn, shown)),
        *close_requests(state),
        *(builders.tool_call_finished(turn_id, id_, "failed", "") for id_ in running.open_calls),
        *(ending(turn) if turn else failed(turn_id, reason, message)),
    ]


def close_requests(state: DeckState) -> list[NewEvent]:
    """Nobody will answer what waits."""
    return [close_request(state, request_id) for request_id in state.pending]


def close_request(state: DeckState, request_id: str) -> NewEvent:
    """Nobody will answer this one."""
    if state.pending[request_id].kind == "choice":
        return builders.choice_resolved(request_id, None, None)
    return builders.permission_resolved(request_id, "expired")


def ending(turn: Turn, at: str | None = None) -> list[NewEvent]:
    """The last three events of a closed turn."""
    return [_outcome(turn, at), *builders.metrics(turn.id, *_tokens(turn), at)]


def failed(turn_id: str, reason: str, message: str) -> list[NewEvent]:
    """The last three events of a turn that the history knows nothing of."""
    return [
        builders.turn_failed(turn_id, reason, message),
        *builders.metrics(turn_id, None, None),
    ]


def whole(turn: Turn) -> list[NewEvent]:
    """A closed turn from its start to its metrics, at the times when it happened."""
    begun = iso_ms(turn.started_at)
    ended = begun if turn.finished_at is None else iso_ms(turn.finished_at)
    routed = [] if turn.facts.route is None else [builders.turn_routed(turn.id, turn.facts, begun)]
    return [
        builders.turn_started(turn.id, begun),
        *routed,
        *builders.text_deltas(turn.id, turn.output or "", ended),
        *ending(turn, ended),
    ]


def _outcome(turn: Turn, at: str | None) -> NewEvent:
    if turn.status is TurnStatus.COMPLETED:
        return builders.turn_completed(turn.id, turn.facts.stop_reason, _duration_ms(turn), at)
    if turn.error is None:
        return builders.turn_failed(turn.id, turn.status.value, INTERRUPTED_MESSAGE, at)
    return builders.turn_failed(turn.id, turn.error.code, turn.error.message, at)


def _rest(turn: Turn | None, shown: str) -> str:
    """The part of the answer that was not shown; a handler may have shown something else."""
    output = None if turn is None else turn.output
    return output[len(shown) :] if output is not None and output.startswith(shown) else ""


def _tokens(turn: Turn | None) -> tuple[int | None, int | None]:
    usage: Usage | None = None if turn is None else turn.facts.usage
    return (None, None) if usage is None else (usage.input, usage.output)


def _duration_ms(turn: Turn) -> int:
    if turn.finished_at is None:
        return 0
    lasted = (turn.finished_at - turn.started_at).total_seconds()
    return max(0, round(lasted * 1000))  # the system's clock may have been set back meanwhile
