"""The turn that runs, as its channel holds it: its text on the way, its tool calls, its task."""

import time
from collections.abc import Callable
from typing import Final

from mead.actors.actor import ActorRef
from mead.actors.tasks import Task
from mead.actors.timer import Timer
from mead.deck import builders
from mead.deck.interaction import DeckInteraction
from mead.deck.messages import Flush, Played
from mead.deck.recorder import Recorder

JOIN_MS: Final = 20
"""Deltas that arrive within it become one event (SPEC section 8); the first is sent at once."""


class LiveTurn:
    """Used by its channel alone."""

    def __init__(self, turn_id: str, channel: ActorRef, recorder: Recorder) -> None:
        self.turn_id = turn_id
        self.interaction = DeckInteraction(channel, turn_id)
        self.cancels: dict[str, Callable[[], None]] = {}
        """What stops each open tool call."""
        self.is_cancelling = False
        self.task: Task[Played]
        self._channel = channel
        self._recorder = recorder
        self._window: Timer | None = None
        self._shown_at = 0.0

    def grew(self) -> None:
        """There is text: show it, or wait for more until the joining window is over."""
        if self._window is not None:
            return
        wait_ms = JOIN_MS - (time.monotonic() - self._shown_at) * 1000
        if wait_ms <= 0:
            self.flush()
        else:
            self._window = Timer(self._channel, wait_ms, Flush(self.turn_id))

    def flush(self) -> None:
        """Show the text that has come."""
        text = self.take_text()
        self._shown_at = time.monotonic()
        self._recorder.record(builders.text_deltas(self.turn_id, text))

    def take_text(self) -> str:
        """The text that was not shown; whoever takes it shows it."""
        if self._window is not None:
            self._window.cancel()
            self._window = None
        return self.interaction.take_text()
