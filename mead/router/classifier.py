"""Whether a turn is routine enough for the local model.  Pure: no clock, no state, no I/O.

Theory of operation.  Sizes and characters are looked at first, being cheap.  Then the prompt is
folded and cut into tokens without its quotations (mead.router.request), and one pass over them
(mead.router.scan) finds out what the request asks for, with the words of mead.router.lexicon.  Any
doubt goes to the cloud.  Source: SPEC section 4.
"""

from dataclasses import dataclass
from typing import Final

from mead.config import ClassifierSettings
from mead.router.code import has_code
from mead.router.lexicon import lexicon_for
from mead.router.request import fold, has_control_characters, resolved, tokens
from mead.router.scan import Scan
from mead.turn import Route

MAXIMUM_GROWTH: Final = 1.5
"""How far a prompt may grow when its compatibility forms are resolved."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a turn goes, and why in a few stable English words that quote nothing of the prompt."""

    route: Route
    reason: str


def classify(
    text: str, *, turns: int, history_characters: int, settings: ClassifierSettings
) -> Verdict:
    """Where a prompt goes whose conversation has `turns` completed turns of that many characters.

    Never raises, whatever the text.  Source: SPEC section 4.
    """
    doubt = _too_much(text, turns, history_characters, settings) or _not_prose(text)
    if doubt is not None:
        return Verdict("cloud", doubt)
    plain = resolved(text, int(MAXIMUM_GROWTH * settings.maximum_characters))
    if plain is None:
        return Verdict("cloud", _too_long(settings))
    lexicon = lexicon_for(settings.local_words, settings.cloud_words)
    routine, reason = Scan(lexicon, tokens(fold(plain))).finding()
    return Verdict("local" if routine else "cloud", reason)


def _too_much(
    text: str, turns: int, history_characters: int, settings: ClassifierSettings
) -> str | None:
    if len(text) > settings.maximum_characters:
        return _too_long(settings)
    if turns > settings.maximum_turns:
        return f"history of more than {settings.maximum_turns} turns"
    if history_characters > settings.maximum_history_characters:
        return f"history longer than {settings.maximum_history_characters} characters"
    return None


def _too_long(settings: ClassifierSettings) -> str:
    return f"input longer than {settings.maximum_characters} characters"


def _not_prose(text: str) -> str | None:
    if has_code(text):
        return "contains a block of code"
    if has_control_characters(text):
        return "contains control characters"
    return None
