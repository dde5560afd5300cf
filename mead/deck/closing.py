"""How a deck's socket is closed, and what its client does then.

Source: SPEC section 8, "Closing"; docs/deck-protocol.md has the table.
"""

from typing import Final, NamedTuple


class Closing(NamedTuple):
    """A WebSocket close code with its reason."""

    code: int
    reason: str


NORMAL: Final = Closing(1000, "")
IDLE: Final = Closing(1001, "idle")
RESTART: Final = Closing(1001, "restart")
ABUSE: Final = Closing(1008, "too many frames that mean nothing")
FAILED: Final = Closing(1011, "the conversation's channel failed")
"""The client comes back, with back-off."""
SLOW: Final = Closing(1013, "too slow")
"""The client comes back and resumes."""
NOT_RESUMED: Final = Closing(4401, "no session.resume in time")
GONE: Final = Closing(4404, "gone")
"""Deleted, or stopped without storage: the client does not come back."""
STOPPED: Final = Closing(4409, "stopped")
"""Stopped, or lost to its restarts: a ticket resumes it."""

LOST: Final = 1006
"""What a client takes for the code when the connection ended without a Close frame."""

ENDINGS: Final = frozenset({NORMAL.code, GONE.code})
"""There is nothing to come back to."""
FAULTS: Final = frozenset({1002, 1007, ABUSE.code, 1009})
"""The client sent what it should not have: it would do so again."""


def is_final(code: int) -> bool:
    """Whether a client stays away."""
    return code in ENDINGS or code in FAULTS


def wants_a_pause(closing: Closing) -> bool:
    """Whether a client that comes back waits first: the server cannot have it at once."""
    return closing == RESTART or closing.code == FAILED.code
