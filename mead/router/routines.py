"""What a routine request is made of: phrases, and what must stand beside them to count."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from mead.router.words import (
    CREATED,
    FORMS,
    LABELS,
    LANGUAGES,
    LISTS,
    PARTS,
    STATES,
    SWITCHES,
    THINGS,
    UNITS,
)


class Text(Enum):
    """How near the text must be that a routine phrase works on."""

    ANYWHERE = auto()
    """No text is needed."""
    POINTED_AT = auto()
    """Given in the prompt, or a word of POINTERS stands for it."""
    GIVEN = auto()
    """Given in the prompt: a quotation, or what a colon introduces."""
    NEXT = auto()
    """A quotation right behind the phrase, as a name has."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need:
    """Words and text that a request must hold."""

    words: tuple[frozenset[str], ...] = ()
    """One of each set."""
    text: Text = Text.ANYWHERE
    either: bool = False
    """Whether the words or the text will do."""
    at_most: int | None = None
    """The greatest number of words in the request."""


NOTHING: Final = Need()
WHOLE: Final = Need(at_most=4)
THING: Final = Need(words=(THINGS,), text=Text.NEXT, either=True)
THING_OR_LIST: Final = Need(words=(THINGS | LISTS,), text=Text.NEXT, either=True)
MATERIAL: Final = Need(words=(THINGS | LISTS | PARTS,), text=Text.POINTED_AT, either=True)
PART: Final = Need(words=(PARTS,), text=Text.POINTED_AT)
SWITCHED: Final = Need(words=(SWITCHES, THINGS))
SAID: Final = Need(words=(LANGUAGES,), text=Text.GIVEN)
POINTED_AT: Final = Need(text=Text.POINTED_AT)
GIVEN: Final = Need(text=Text.GIVEN)
LANGUAGE: Final = Need(words=(LANGUAGES,), text=Text.POINTED_AT, either=True)
FORM: Final = Need(words=(FORMS,), text=Text.POINTED_AT)
LABEL: Final = Need(words=(LABELS,), text=Text.GIVEN)
STATE: Final = Need(words=(STATES, THINGS))
CREATION: Final = Need(words=(CREATED,))
MEASURE: Final = Need(words=(UNITS,))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Routine:
    """A kind of routine request and the phrases that ask for it; equal to itself alone."""

    reason: str
    need: Need
    phrases: frozenset[str]
    leads: bool = True
    """Whether the phrase counts only where a clause begins, as an imperative does."""
    takes_text: bool = False
    """Whether a colon after it introduces given text."""
    carries: bool = False
    """Whether a colon after it introduces given text when a word points at that."""
    free: bool = False
    """Whether what stands beside it is its own affair, as in a reminder."""
    demands: bool = True
    """Whether it is a request even without what it needs, so that it cannot be passed over."""
