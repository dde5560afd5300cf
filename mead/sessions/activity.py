"""Whether a conversation may be stopped to make room for another."""

import time


class Activity:
    """Whether a session may be stopped to make room; read and written without yielding.

    `submitting` counts the callers that are about to hand over a turn or wait for one, so that a
    turn on its way in is seen before the server has read it.
    """

    __slots__ = ("busy", "leaving", "since", "submitting")

    def __init__(self) -> None:
        self.busy = False
        self.leaving = False
        """Whether it was chosen to make room: it takes no more turns."""
        self.submitting = 0
        self.since = time.monotonic()

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost by stopping it."""
        return not (self.busy or self.leaving or self.submitting)

    def set(self, *, busy: bool) -> None:
        """Note a change, or the start of another turn."""
        self.busy = busy
        self.since = time.monotonic()
