"""A conversation as a person names it: by its id, or by the beginning of it."""

from typing import Final

from mead.cli.runtime import Runtime
from mead.errors import InvalidInput, SessionNotFound
from mead.ids import is_uuid4

SHORTEST_PREFIX: Final = 4
"""Fewer characters would soon be ambiguous, and are more likely a slip."""
_SHOWN: Final = 5


def whole_id(runtime: Runtime, given: str) -> str:
    """The id that `given` is, or that alone begins with it among the stored ones.

    Only for people: a program, and every other door, has to name a conversation whole.
    Raises SessionNotFound, InvalidInput for a beginning of several, PersistenceError.
    Blocks on: disk, for a beginning.
    """
    if is_uuid4(given):
        return given
    if len(given) < SHORTEST_PREFIX:
        raise SessionNotFound(
            f"name a conversation by its id or the first {SHORTEST_PREFIX} characters of it or more"
        )
    stored = (entry.session_id for entry in runtime.list_sessions())
    found = [session_id for session_id in stored if session_id.startswith(given)]
    if not found:
        raise SessionNotFound
    if len(found) > 1:
        some = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        raise InvalidInput(f"{len(found)} conversations begin like that: {some}")
    return found[0]
