"""From a prompt to the words of its request: folded, quotations taken out, cut into tokens.

What is decided from the characters alone is decided here, before any word is known: a control
character is a doubt, and so is a letter that none of the three languages has.
"""

import re
import unicodedata
from typing import Final

QUOTED: Final = "\x1f"
"""Stands where a quotation stood.  A prompt that holds it is refused for its control character."""

BREAKS: Final = frozenset(".!?;:,\n()[]|") | {QUOTED}
"""Tokens that are no words: a clause ends here."""

SENTENCE_ENDS: Final = frozenset(".!?\n")

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_WHOLE_WORDS: Final = re.compile("[\u3200-\u33ff\ufdf0-\ufdfc]")
"""Characters that stand for a word or a blessing, or put one into a circle or a square."""
MAXIMUM_WHOLE_WORDS: Final = 20

_INVISIBLE: Final = re.compile(
    "[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]"
)
"""Combining marks left over by composition, soft hyphens, joiners: they may not split a word."""

_ACCENTS: Final = str.maketrans(
    "áàâãéêíóôõúüçñ\u2010\u2011\u2012\u2013\u2014\u2015\x85\u2028\u2029",
    "aaaaeeiooouucn------\n\n\n",
)
"""The letters of Portuguese and Spanish, dashes and line ends.  Any other letter is foreign."""

_TOKEN: Final = re.compile(r"[^\W_]+|[.:](?=\s|$)|[!?;,\n()\[\]|\x1f]")

_QUOTATIONS: Final = (
    ('"', re.compile(r'(?<!\w)"[^"]*"(?!\w)')),
    ("“", re.compile(r"“[^“”]*”")),
    ("«", re.compile(r"«[^«»]*»")),
    ("„", re.compile(r"„[^„“”]*[“”]")),
    ("\u2018", re.compile("\u2018[^\u2018\u2019]*\u2019(?!\\w)")),
    ("'", re.compile(r"(?<!\w)'(?=\S)[^'\n]*(?<=\S)'(?!\w)")),
    ("`", re.compile(r"`[^`\n]+`")),
)


def has_control_characters(text: str) -> bool:
    """Whether `text` holds characters that no keyboard types."""
    return _CONTROL.search(text) is not None


def resolved(text: str, limit: int) -> str | None:
    """`text` with its compatibility forms resolved; None when it is then longer than `limit`.

    One character may stand for 18; to find that out of many costs more than all the rest.
    """
    if text.isascii():
        return text
    if len(_WHOLE_WORDS.findall(text)) > MAXIMUM_WHOLE_WORDS:
        return None
    plain = unicodedata.normalize("NFKC", text)
    return plain if len(plain) <= limit else None


def fold(text: str) -> str:
    """`text` as the word lists spell: compatibility forms, case, accents and CR resolved."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _INVISIBLE.sub("", folded).translate(_ACCENTS)


def without_quotations(folded: str) -> str:
    """`folded` with QUOTED for every quotation; an opening mark without its end stays as it is."""
    for mark, pattern in _QUOTATIONS:
        if mark in folded and not (mark == '"' and folded.count(mark) % 2):
            folded = pattern.sub(QUOTED, folded)
    return folded


def tokens(folded: str) -> list[str]:
    """The words of a folded text and the signs that part its clauses, in order."""
    return _TOKEN.findall(without_quotations(folded))
