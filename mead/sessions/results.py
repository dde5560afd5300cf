"""What the end of a handler's task means for its turn.  Pure, but for a line in the log."""

import logging

from mead.actors.exits import Outcome
from mead.errors import MAXIMUM_OUTPUT_BYTES, TurnError, TurnFailed, answer_too_long

log = logging.getLogger(__name__)


def result_of(outcome: Outcome[str]) -> str | TurnError:
    """What a task's end means: the text, or why there is none."""
    if outcome.error is None:
        return _checked(outcome.value)
    if isinstance(outcome.error, TurnError) and _is_sayable(outcome.error):
        return outcome.error
    log.warning("a turn handler crashed: %s", type(outcome.error).__name__)
    return TurnFailed("handler_crashed", "the turn handler crashed")


def _is_sayable(error: TurnError) -> bool:
    """Whether its code and message are text that can be kept and sent."""
    try:
        (error.turn_code + error.message).encode()
    except (TypeError, AttributeError, UnicodeEncodeError):
        return False
    return True


def _checked(output: object) -> str | TurnFailed:
    """The output if it is text that can be kept and sent."""
    if not isinstance(output, str):
        return TurnFailed("bad_output", "the turn handler returned something that is not text")
    try:
        size = len(output.encode())
    except UnicodeEncodeError:
        return TurnFailed("bad_output", "the turn handler returned text that is not Unicode")
    if size > MAXIMUM_OUTPUT_BYTES:
        return answer_too_long()
    return output
