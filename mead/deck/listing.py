"""The list of conversations, as a device shows it."""

from collections.abc import Iterable
from typing import Any, Final

from mead.actors.green import with_pauses
from mead.deck.channels import ChannelPool, FindSession
from mead.deck.titles import Titles
from mead.protocols import StoredSession
from mead.turn import iso_ms, iso_now

LIST_STEP: Final = 250
"""Rows made between two yields, a few milliseconds."""


def rows(
    stored: Iterable[StoredSession],
    channels: ChannelPool,
    titles: Titles,
    find_session: FindSession,
) -> list[dict[str, Any]]:
    """One row for each that is stored or has a channel, newest first."""
    updated = dict.fromkeys(channels.children, iso_now())
    updated.update((entry.session_id, iso_ms(entry.updated_at)) for entry in stored)
    found = [
        _row(id_, at, channels, titles, find_session)
        for id_, at in with_pauses(updated.items(), LIST_STEP)
    ]
    return sorted(found, key=lambda row: row["updated_at"], reverse=True)


def _row(
    session_id: str,
    updated_at: str,
    channels: ChannelPool,
    titles: Titles,
    find_session: FindSession,
) -> dict[str, Any]:
    state, session = channels.state_of(session_id), find_session(session_id)
    return {
        "session_id": session_id,
        "title": titles.get(session_id),
        "updated_at": (state and state.last_at) or updated_at,
        "running": session is not None,
        "turn_running": session is not None and session.is_busy,
        "queued": 0 if state is None else len(state.queue),
        "pending": 0 if state is None else len(state.pending),
    }
