"""The answer of a turn as it grows over several model calls.

What is shown is what is kept: the fragments that were shown, joined, are exactly the turn's output.
Source: seed A4, Streaming.
"""

from collections.abc import Callable
from typing import Final

from mead.errors import MAXIMUM_OUTPUT_BYTES, answer_too_long

SEPARATOR: Final = "\n\n"
"""Between the texts of two model calls, where both have one."""


class Transcript:
    """Collects fragments and shows each at once to whoever watches."""

    def __init__(self, show: Callable[[str], None] | None) -> None:
        self._show = show
        self._size = 0
        self._shown: list[str] = []
        self._call: list[str] = []
        """The fragments of the running model call."""

    @property
    def text(self) -> str:
        """Everything so far."""
        return "".join(self._shown)

    def add(self, fragment: str) -> None:
        """The next fragment of the running model call.

        Raises TurnFailed(`bad_output`): nobody listens to a model without end until its turn does.
        """
        if not fragment:
            return
        if self._shown and not self._call:
            self._put(SEPARATOR)
        self._call.append(fragment)
        self._put(fragment)

    def end_call(self, text: str) -> None:
        """End the running model call, whose whole text is `text`: add what was not streamed.

        A provider whose fragments contradict its text is held to what was shown.
        """
        streamed = "".join(self._call)
        if text.startswith(streamed):
            self.add(text[len(streamed) :])
        self._call.clear()

    def _put(self, text: str) -> None:
        self._size += len(text.encode(errors="replace"))
        if self._size > MAXIMUM_OUTPUT_BYTES:
            raise answer_too_long()
        self._shown.append(text)
        if self._show is not None:
            self._show(text)
