"""Checks of what a caller hands to the public API, before anything is recorded.

Each returns the value with its type known, or raises the MeadError that says what is allowed.
"""

from collections.abc import Callable
from typing import Final, cast, get_args

from mead.errors import InvalidInput, InvalidInteraction, InvalidRoute, SessionNotFound
from mead.ids import is_uuid4
from mead.protocols import Interaction
from mead.turn import RequestedRoute, ToolLevel

MAXIMUM_INPUT_CHARACTERS: Final = 100_000
"""A first value, not a measured one (seed A7)."""

MAXIMUM_TURN_TIMEOUT_MS: Final = 3_600_000
"""One hour (seed A7)."""

MAXIMUM_RECENT: Final = 100
"""The ring of the ledger (seed A5)."""


def session_id(value: object) -> str:
    """A text with the shape of an id; no other text may become a path or a key."""
    if not is_uuid4(value):
        raise SessionNotFound
    return cast("str", value)


def turn_id(value: object) -> str:
    """A turn id that the caller chose."""
    if not is_uuid4(value):
        raise InvalidInput("turn_id must be a lower-case UUID version 4")
    return cast("str", value)


def text(value: object) -> str:
    """A prompt: text that can be stored and sent, of 1 to 100 000 characters."""
    if not isinstance(value, str):
        raise InvalidInput(f"input must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput("input is empty; say something")
    if len(value) > MAXIMUM_INPUT_CHARACTERS:
        raise InvalidInput(
            f"input has {len(value)} characters; at most {MAXIMUM_INPUT_CHARACTERS} are taken"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"input holds half of a surrogate pair at character {error.start}; it is not Unicode"
        ) from None
    return value


def route(value: object) -> RequestedRoute | None:
    """A route, or None for the default one."""
    if value is not None and value not in get_args(RequestedRoute):
        raise InvalidRoute
    return cast("RequestedRoute | None", value)


def tools(value: object) -> ToolLevel | None:
    """The `tools` option."""
    if value not in (None, "effect"):
        raise InvalidInput('tools must be "effect" or left out')
    return value


def interaction(value: object) -> Interaction | None:
    """An object with the methods of Interaction, or None."""
    if value is not None and not isinstance(value, Interaction):
        raise InvalidInteraction(f"the interaction lacks {_missing(value)} (see Interaction)")
    return value


def _missing(value: object) -> str:
    """The methods that it lacks, by name."""
    names = (name for name in vars(Interaction) if not name.startswith("_"))
    return ", ".join(f"{name}()" for name in names if not hasattr(value, name))


def on_text(value: object) -> Callable[[str], None] | None:
    """A callable that takes text, or None."""
    if value is not None and not callable(value):
        raise InvalidInput(f"on_text must be callable, not {type(value).__name__}")
    return cast("Callable[[str], None] | None", value)


def turn_timeout_ms(value: object, default: int) -> int:
    """A turn's time in milliseconds, 1 to an hour."""
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"turn_timeout_ms must be a whole number, not {type(value).__name__}")
    if not 1 <= value <= MAXIMUM_TURN_TIMEOUT_MS:
        raise InvalidInput(f"turn_timeout_ms must be 1 to {MAXIMUM_TURN_TIMEOUT_MS}, not {value}")
    return value


def recent(value: object) -> int:
    """How many of the latest turns to show, 0 to 100."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAXIMUM_RECENT:
        raise InvalidInput(f"recent must be a whole number from 0 to {MAXIMUM_RECENT}")
    return value
