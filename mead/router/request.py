"""From a prompt to the words of its request: folded, quotations taken out, cut into tokens.

Three things are decided here from the characters alone, before any word is known: a block of code,
a control character and a letter that none of the three languages has are each a doubt.
"""

import re
import unicodedata
from typing import Final

QUOTED: Final = "\x1f"
"""Stands where a quotation stood.  A prompt that holds it is refused for its control character."""

BREAKS: Final = frozenset(".!?;:,\n()[]|") | {QUOTED}
"""Tokens that are no words: a clause ends here."""

SENTENCE_ENDS: Final = frozenset(".!?\n")

_CODE: Final = re.compile(
    r"""
      ``` | ~~~                                              # a fence
    | ^\s*(?:def|class)\s+\w+[^\n]*:\s*$                     # Python
    | ^\s*(?:from\s+[\w.]+\s+)?import\s+[\w.*{}\ ,]+;?\s*$
    | \bTraceback\ \(most\ recent\ call\ last\)
    | \bfunction\s*\w*\s*\([^)\n]*\)\s*\{ | =>\s*\{          # JavaScript
    | ^\s*(?:const|let|var)\s+\w+\s*=
    | \w\([^()\n]*\)\s*[{;]                                  # C and its family
    | ^\s*\#(?:include|define|!)
    | </\w+>                                                 # markup
    | <\?php
    """,
    re.VERBOSE | re.MULTILINE,
)
_CODE_SIGNS: Final = re.compile(r"[`~=#;:<{(]|import")
"""Without one of these `_CODE` cannot match; most prompts have none and skip it."""

_SQL: Final = re.compile(r"\bSELECT\s[^;]+\sFROM\s")

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_INVISIBLE: Final = re.compile(
    "[\u0300-\u036f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]"
)
"""Combining marks left over by composition, soft hyphens, joiners: they may not split a word."""

_ACCENTS: Final = str.maketrans(
    "áàâãéêíóôõúüçñ\u2010\u2011\u2012\u2013\u2014\u2015", "aaaaeeiooouucn------"
)
"""The letters of Portuguese and Spanish, and dashes.  Any other letter is foreign."""

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


def has_code(text: str) -> bool:
    """Whether `text` holds a block of code, given or not."""
    if _CODE_SIGNS.search(text) is not None and _CODE.search(text) is not None:
        return True
    return "SELECT" in text and "FROM" in text and _SQL.search(text) is not None


def has_control_characters(text: str) -> bool:
    """Whether `text` holds characters that no keyboard types."""
    return _CONTROL.search(text) is not None


def fold(text: str) -> str:
    """`text` as the word lists spell: compatibility forms resolved, case and accents gone."""
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


def tokens(text: str) -> list[str]:
    """The words of `text` and the signs that part its clauses, in order."""
    return _TOKEN.findall(without_quotations(fold(text)))
