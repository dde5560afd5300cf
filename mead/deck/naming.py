"""What a conversation may be called: visible text on one line.  Pure.

A list shows many titles beside each other, on pages, in terminals and in files.  So a title has no
character that ends its line, steers what shows it, changes the order of reading or is not seen
(Unicode's Cc, Cf, Cs, Zl and Zp); only the two joiners stay, of emoji and of scripts that need
them.  A person's title with another is refused; from one that was found somewhere they are taken.
"""

import unicodedata
from typing import Final

from mead.errors import InvalidInput

MAXIMUM_CHARACTERS: Final = 200
"""A title stands on one line of a list."""
DEFAULT_CHARACTERS: Final = 60
"""Of the first prompt, for a conversation that nobody has named."""

_JOINERS: Final = "\u200c\u200d"
_BREAKS: Final = ("Cc", "Zl", "Zp")
"""In their place stands a space."""
_UNSEEN: Final = ("Cf", "Cs")


def checked(title: object) -> str:
    """A title that a person chose, without white space around it.  Raises InvalidInput."""
    if not isinstance(title, str):
        raise InvalidInput("title must be a text")
    name = title.strip()
    if not 0 < len(name) <= MAXIMUM_CHARACTERS:
        raise InvalidInput(f"title must have 1 to {MAXIMUM_CHARACTERS} characters")
    if any(_seen(character) != character for character in name):
        raise InvalidInput("title must be one line of visible text")
    return name


def found(title: str) -> str:
    """What is left of a title that nobody checked; perhaps nothing."""
    seen = "".join(map(_seen, title[: 4 * MAXIMUM_CHARACTERS]))
    return " ".join(seen.split())[:MAXIMUM_CHARACTERS].rstrip()


def default_title(prompt: str) -> str:
    """What a conversation is called that begins with this prompt."""
    words = " ".join(prompt.split(maxsplit=DEFAULT_CHARACTERS))
    return found(words)[:DEFAULT_CHARACTERS].rstrip()


def _seen(character: str) -> str:
    if character in _JOINERS:
        return character
    category = unicodedata.category(character)
    return " " if category in _BREAKS else "" if category in _UNSEEN else character
