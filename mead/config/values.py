"""What a source said, before anyone knows what it should be, and how a fault speaks of it.

A fault is one line, so every text in it is cut and its control characters are spelled out; of a
secret a fault tells the type and never the text.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Final, cast

from mead.config.secrets import Secret

LONGEST_SHOWN: Final = 60
"""Characters of a found text in a fault; a longer one would hide what follows it."""
DEEPEST: Final = 32
"""Levels of tables and lists; no setting needs five, and a cycle ends here."""


class Refused(ValueError):
    """A value is not allowed; `found` says what it is, fit for a fault."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(found)


@dataclass(frozen=True, slots=True)
class EnvironmentValue:
    """The value of an environment variable that may be more than text.

    A setting that is a text takes it as written: a token of digits alone is no number.
    """

    raw: str
    value: object
    broken: str | None = None
    """Where the JSON of a list or table breaks off, if it does."""


def found(value: object) -> str:
    """What was found, in a few words."""
    if isinstance(value, EnvironmentValue):
        return quoted(value.raw)
    if isinstance(value, str):
        return quoted(value) if value else "an empty text"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**LONGEST_SHOWN else "a very large number"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Path):
        return quoted(str(value))
    return kind(value)


def kind(value: object) -> str:
    """The type alone of what was found."""
    if isinstance(value, EnvironmentValue | str | Secret | Path):
        return "a text"
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, date | time):
        return "a date or time"
    if is_list(value):
        return "a list"
    return f"an object of type {type(value).__name__}"


def quoted(text: str) -> str:
    """The text in quotes, cut, on one line."""
    return f'"{short(text, LONGEST_SHOWN)}"'


def short(text: str, longest: int) -> str:
    """The text, cut, on one line."""
    return one_line(text if len(text) <= longest else f"{text[:longest]}...")


def one_line(text: str) -> str:
    """The text with everything that does not print spelled out."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def is_list(value: object) -> bool:
    """Whether it is a list in the sense of a settings file."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def plain(value: object, depth: int = 0) -> object:
    """A copy in dicts and lists; whatever is neither table nor list stays as it is.

    Raises Refused for a key that is no text and for nesting without end.
    """
    if depth > DEEPEST:
        raise Refused(f"more than {DEEPEST} levels of tables and lists")
    if isinstance(value, Mapping):
        table = cast("Mapping[object, object]", value)
        return {_text_key(key): plain(one, depth + 1) for key, one in table.items()}
    if is_list(value):
        return [plain(one, depth + 1) for one in cast("Sequence[object]", value)]
    return value


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise Refused(f"a key that is {kind(key)}")
    return key


def is_json(value: object) -> bool:
    """Whether a plain value can travel in a JSON body."""
    if isinstance(value, dict):
        return all(is_json(one) for one in cast("dict[str, object]", value).values())
    if isinstance(value, list):
        return all(is_json(one) for one in cast("list[object]", value))
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return encodes(value)
    return value is None or isinstance(value, bool | int)


def encodes(text: str) -> bool:
    """Whether the text has a UTF-8 form (a variable with stray bytes has none)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
