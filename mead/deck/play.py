"""Runs one turn for a channel, in a task of its own."""

import logging
from collections.abc import Callable

from mead.actors.green import sleep_ms
from mead.deck.messages import Played
from mead.errors import MeadError, SessionNotFound, SessionStopped
from mead.protocols import Interaction, SessionAPI
from mead.turn import RequestedRoute, ToolLevel, Turn, TurnStatus

log = logging.getLogger(__name__)

CANCEL_RETRY_MS = 20
CANCEL_RETRIES = 50
"""A turn that was just submitted may not have reached its session yet."""


def play(
    api: SessionAPI,
    session_id: str,
    turn_id: str,
    text: str,
    *,
    route: RequestedRoute | None,
    tools: ToolLevel | None,
    interaction: Interaction,
    on_text: Callable[[str], None] | None,
) -> Played:
    """How the turn went.  Blocks on: the turn."""
    try:
        receipt = api.submit(
            session_id,
            text,
            route=route,
            tools=tools,
            interaction=interaction,
            on_text=on_text,
            turn_id=turn_id,
        )
    except (SessionStopped, SessionNotFound):
        return Played(None, SessionStopped())
    except MeadError as error:
        return Played(_closed(api, session_id, turn_id), error)
    return Played(receipt.turn, receipt)


def cancel(api: SessionAPI, session_id: str, turn_id: str, is_running: Callable[[], bool]) -> None:
    """End a turn that was submitted.  Blocks on: the session."""
    for _ in range(CANCEL_RETRIES):
        if not is_running():
            return
        try:
            api.cancel_turn(session_id, turn_id)
        except SessionNotFound:
            sleep_ms(CANCEL_RETRY_MS)
        except MeadError as error:
            log.warning("session %s: a turn could not be cancelled: %s", session_id, error)
            return


def _closed(api: SessionAPI, session_id: str, turn_id: str) -> Turn | None:
    """The turn as the history has it, for what it cost; None if it was never recorded."""
    try:
        turns = api.history(session_id)
    except MeadError:
        return None
    for turn in reversed(turns):
        if turn.id == turn_id:
            return None if turn.status is TurnStatus.RUNNING else turn
    return None
