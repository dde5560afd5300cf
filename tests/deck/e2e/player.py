"""A turn handler that does what its prompt says, for servers that tests start.

`stream COUNT MS`: that many pieces of text, one every MS milliseconds.  `calls COUNT MS`: that many
tool calls of class read.  `write`: one call of class effect.  `choose`: a question.  `hold`: waits
until it is cancelled.  Anything else: itself.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import gevent

from mead.protocols import ToolUse, TurnContext


class Player:
    """See the module."""

    def handle_turn(self, history: Sequence[Any], text: str, context: TurnContext) -> str:
        word, *numbers = text.split()
        act = getattr(self, f"_{word}", None)
        return text if act is None else act(context, *map(int, numbers))

    def _stream(self, context: TurnContext, count: int, pause_ms: int) -> str:
        pieces = [f"{number} " for number in range(count)]
        for piece in pieces:
            context.text_delta(piece)
            gevent.sleep(pause_ms / 1000)
        return "".join(pieces)

    def _calls(self, context: TurnContext, count: int, pause_ms: int) -> str:
        for _ in range(count):
            self._call(context, "read")
            gevent.sleep(pause_ms / 1000)
        return f"{count} calls"

    def _write(self, context: TurnContext) -> str:
        return "wrote" if self._call(context, "effect") else "did not write"

    def _choose(self, context: TurnContext) -> str:
        with context.clock.paused():
            return context.interaction.choose("Which?", ("tea", "coffee")) or "neither"

    def _hold(self, context: TurnContext) -> str:
        gevent.sleep(3600)
        return ""

    def _call(self, context: TurnContext, kind: str) -> bool:
        use = ToolUse(
            call_id=str(uuid.uuid4()),
            server="notes",
            tool=kind,
            name=f"notes__{kind}",
            kind=kind,
            arguments={"text": "x" * 20},
        )
        with context.clock.paused():
            allowed = context.interaction.authorize(use, lambda: None)
        context.interaction.call_finished(use.call_id, "ok" if allowed else "denied", "done")
        return allowed
