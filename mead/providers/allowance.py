"""How much one answer of a model may hold: text, thinking and tool calls together.

Every stream that is folded into an answer asks here before it keeps a piece, so that a server
whose answer never ends costs a turn and not the process's memory.
"""

from typing import Final

from mead.providers.errors import ProviderFault
from mead.providers.shape import dumped

MAXIMUM_CHARACTERS: Final = 8 * 1024 * 1024
"""Four times what a turn's text may have; the longest answers of today's models have a tenth."""
_PIECE_CHARACTERS: Final = 16
"""What keeping a piece costs beside its characters, so that tiny pieces count too."""
_VALUE_CHARACTERS: Final = 256
"""The same for a value of JSON."""


class Allowance:
    """What is left for one answer."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAXIMUM_CHARACTERS

    def take(self, characters: int) -> None:
        """A piece of so many characters is about to be kept.  Raises ProviderFault."""
        self._left -= characters + _PIECE_CHARACTERS
        if self._left < 0:
            raise ProviderFault(
                "bad_response", f"the answer has more than {MAXIMUM_CHARACTERS} characters"
            )

    def take_value(self, value: object) -> None:
        """A value of JSON is about to be kept.  Raises ProviderFault."""
        self.take(len(dumped(value)) + _VALUE_CHARACTERS)
