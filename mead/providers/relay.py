"""The way of a growing answer to whoever shows it."""

from collections.abc import Callable


class TextRelay:
    """Hands text on as it comes, and knows whether any of it was seen.

    White space at the beginning of a block waits for the block's first word: a block without one is
    no text (`worded` says the same of a whole block), so a stream shows what a plain answer holds.
    """

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._held: list[str] = []
        self._worded = False
        self.shown = False
        """Whether text of the current call was handed on: from then on it is not tried again."""

    def begin_call(self) -> None:
        """The next text belongs to another request."""
        self.shown = False
        self.begin_block()

    def begin_block(self) -> None:
        """The next text begins a block."""
        self._held.clear()
        self._worded = False

    def text(self, piece: str) -> None:
        """The next piece of the block."""
        if self._on_text is None or not piece:
            return
        if not self._worded:
            self._held.append(piece)
            if piece.isspace():
                return
            piece, self._worded = "".join(self._held), True
            self._held.clear()
        self.shown = True
        self._on_text(piece)


def worded(text: str) -> str:
    """The text of a block; none if it is only white space."""
    return text if text.strip() else ""
