"""When something has to have ended, however many steps it takes."""

import time

from mead.mcp.client.faults import ServerFault


class Deadline:
    """So many milliseconds from now."""

    __slots__ = ("_at", "_given_ms")

    def __init__(self, given_ms: float) -> None:
        self._given_ms = given_ms
        self._at = time.monotonic() + given_ms / 1000

    def left_ms(self) -> float:
        """What is left.  Raises ServerFault (`timeout`) when nothing is."""
        left = (self._at - time.monotonic()) * 1000
        if left <= 0:
            raise ServerFault("timeout", f"no answer in {self._given_ms:.0f} ms")
        return left
