"""Whether a prompt holds a block of code: shapes that people do not write in prose.

A shape is looked for anywhere, or where a line or given text begins (behind a colon, a semicolon).
JSON, CSV, tables and `name=value` are data and no code.  Each shape has a text without which it
cannot match, so that most prompts cost a few look-ups, and each pattern takes linear time: what it
repeats cannot give back (`++`) and cannot run over the sign that begins the shape.
"""

import re
from typing import Final

_BEGINNING: Final = r"(?:^|[:;])[ \t]*+"

_SHAPES: Final = (
    ("```", r"```"),
    ("~~~", r"~~~"),
    # Python, Ruby
    ("def", rf"\bdef[ ]++\w++[ ]*+\(|{_BEGINNING}(?:async[ ]++)?def[ ]++\w"),
    (
        "class",
        rf"{_BEGINNING}class[ ]++\w++[ ]*+(?:\([^()\n]*+\)[ ]*+)?:[ \t]*+"
        r"(?:$|pass\b|\w++[ ]*+=)",
    ),
    ("class", r"\bclass[ ]++\w++[^\n:;{}]{0,60}+\{"),
    (
        "import",
        rf"{_BEGINNING}(?:from[ ]++[\w.]++[ ]++)?import[ ]++[\w.*{{}}\ ,]++;?[ \t]*+$"
        r"|\bfrom[ ]++[\w.]++[ ]++import[ ]++[\w*({]",
    ),
    ("import", rf"{_BEGINNING}import[ ]++[\w.*{{}}\ ,]*+[\"']"),
    ("lambda", r"\blambda[ ]++[\w, ]{0,40}+:"),
    (" in ", rf"{_BEGINNING}for[ ]++\w++[ ]++in[ ]++[^\n:;]++:[ \t]*+$"),
    ("__", r"\b__(?:init|name|main|file|dict|str|repr|all)__\b"),
    ("Traceback", r"\bTraceback \(most recent call last\)"),
    # JavaScript
    ("function", r"\bfunction\b[ *]{0,3}+\w*+[ ]?\([^()\n]*+\)\s{0,3}+\{"),
    ("=>", r"=>\s{0,3}+\{|\)[ ]?=>"),
    ("=", r"\b(?:const|let|var)[ ]++\w++[ ]*+(?::[ ]*+\w++[ ]*+)?=(?!=)"),
    # C and its family
    ("(", r"\w\([^()\n]*+\)\s{0,3}+[{;]|\)\)\s{0,3}+[{;]"),
    ("(", r"\b(?:print(?:f|ln)?|range|len|require|console\.\w++)\("),
    (")", r"\)[ ]?->"),
    (".", r"[a-z_]\.[a-z_]\w*+\("),
    ("#", rf"{_BEGINNING}\#(?:include\b|define\b|!)"),
    ("{", r"\{[^{};\"']*+;"),
    ("=", r"(?<![=!<>])={2,3}(?!=)|!==?(?!=)"),
    ("&&", r"&&"),
    (" ", r"\b(?:int|float|double|char|bool|void|String)[ ]++\w++(?:[ ]*+=|\()"),
    # markup
    ("</", r"</\w++>"),
    ("/>", r"<\w++[^<>\n]*+(?<=/)>"),
    ("<", r"<\w++[ ]++[\w-]++=|<(?:br|hr|p|div|ul|ol|li|html|body|head)>|<!--|<!DOCTYPE"),
    ("<?", r"<\?(?:php|xml)\b"),
    # a shell
    ("sudo", rf"{_BEGINNING}sudo[ ]++\w"),
    ("$ ", rf"{_BEGINNING}\$[ ][a-z]"),
)

_COMPILED: Final = tuple((sign, re.compile(shape, re.MULTILINE)) for sign, shape in _SHAPES)
"""What a shape cannot do without, and the shape."""

_QUERIES: Final = tuple(
    (first, re.compile(begin), re.compile(end))
    for first, begin, end in (
        ("SELECT", r"\bSELECT\s", r"\sFROM\s"),
        ("select", r"\bselect[ ]++\*", r"\bfrom[ ]++\w"),
        ("select", r"\bselect[ ]++\w", r"\bfrom[ ]++\w++[ ]++where\b"),
        ("INSERT", r"\bINSERT\s++INTO\s", r""),
        ("insert", r"\binsert[ ]++into[ ]++\w++[ ]*+\(", r""),
        ("UPDATE", r"\bUPDATE\s++\w++\s++SET\s", r"="),
        ("update", r"\bupdate[ ]++\w++[ ]++set[ ]++\w++[ ]*+=", r""),
        ("DELETE", r"\bDELETE\s++FROM\s++\w++\s++WHERE\s", r""),
        ("delete", r"\bdelete[ ]++from[ ]++\w++[ ]++where[ ]", r""),
        ("CREATE", r"\bCREATE\s++TABLE\s", r"\("),
        ("create", r"\bcreate[ ]++table[ ]++\w++[ ]*+\(", r""),
    )
)
"""SQL: a word, what it stands in, and what comes anywhere behind that."""


def has_code(text: str) -> bool:
    """Whether `text` holds a block of code, given or not."""
    return any(sign in text and shape.search(text) is not None for sign, shape in _COMPILED) or any(
        first in text and _is_query(text, begin, end) for first, begin, end in _QUERIES
    )


def _is_query(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> bool:
    begun = begin.search(text)
    return begun is not None and end.search(text, begun.end() - 1) is not None
