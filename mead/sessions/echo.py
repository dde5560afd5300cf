"""The handler of a Mead without a model: it says what it is told.  Source: seed M."""

from collections.abc import Sequence

from mead.protocols import TurnContext
from mead.turn import Turn


class EchoHandler:
    """Answers every turn with its own text."""

    def handle_turn(self, history: Sequence[Turn], text: str, context: TurnContext) -> str:
        """The text itself."""
        del history
        context.text_delta(text)
        return text
