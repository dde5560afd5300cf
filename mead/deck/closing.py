"""How a deck's socket is closed, and what its client does then.  Source: SPEC section 8."""

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
