"""The list of conversations, as a device shows it."""

from collections.abc import Iterable, Iterator
from typing import Any

from mead.deck.channels import ChannelPool, FindSession
from mead.deck.titles import Titles
from mead.protocols import StoredSession
from mead.turn import iso_ms, iso_now


def rows(
    stored: Iterable[StoredSession],
    channels: ChannelPool,
    titles: Titles,
    find_session: FindSession,
) -> Iterator[dict[str, Any]]:
    """One row for each, newest first; those that have a channel and are not stored come first."""
    entries = list(stored)
    known = {entry.session_id for entry in entries}
    for session_id in channels.children:
        if session_id not in known:
            yield _row(session_id, iso_now(), channels, titles, find_session)
    for entry in entries:
        updated_at = iso_ms(entry.updated_at)
        yield _row(entry.session_id, updated_at, channels, titles, find_session)


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
