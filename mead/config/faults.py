"""From what marshmallow collected to one line a fault."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

from mead.config.tables import UnknownKey
from mead.config.values import LONGEST_SHOWN, one_line, quoted

KeyPath = tuple[str | int, ...]

_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN_KEYS: Final = 24
_TEXT_FOR_A_LIST: Final = re.compile("found a text; allowed: a (list|table)")
_JSON_HINT: Final = ", written as JSON"

ENVIRONMENT: Final = "environment "
"""How the source of a value begins that a MEAD_ variable gave."""


def shown_path(path: Sequence[str | int]) -> str:
    """`mcp.servers[0].headers."X Key"`: the full name of a key."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            name = (
                part if _PLAIN_KEY.fullmatch(part) and len(part) <= LONGEST_SHOWN else quoted(part)
            )
            shown += f".{name}" if shown else name
    return shown


def fault_lines(
    messages: Mapping[str, object],
    source_of: Callable[[KeyPath], str | None],
    known_keys: Sequence[str],
) -> list[str]:
    """One line for each message of the tree that a marshmallow error carries."""
    return [
        _line(path, message, source_of(path), known_keys) for path, message in _walk(messages, ())
    ]


def _walk(messages: object, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    if isinstance(messages, Mapping):
        for key, below in cast(Mapping[str | int, object], messages).items():
            yield from _walk(below, (*path, key))
    elif isinstance(messages, list):
        for message in cast(list[object], messages):
            yield from _walk(message, path)
    else:
        yield path, messages


def _line(path: KeyPath, message: object, source: str | None, known_keys: Sequence[str]) -> str:
    where = shown_path(path)
    if source is not None:
        where += f" ({source})"
    if isinstance(message, UnknownKey):
        return f"{where}: {_unknown(path, message, known_keys)}"
    hint = _JSON_HINT if source is not None and _needs_json(source, str(message)) else ""
    return f"{where}: {one_line(str(message))}{hint}"


def _needs_json(source: str, message: str) -> bool:
    return source.startswith(ENVIRONMENT) and _TEXT_FOR_A_LIST.match(message) is not None


def _unknown(path: KeyPath, unknown: UnknownKey, known_keys: Sequence[str]) -> str:
    name = str(path[-1]).lower().replace("-", "_")
    words = ["unknown key"]
    if unknown.remark is not None:
        words.append(unknown.remark)
    elif near := difflib.get_close_matches(name, unknown.known, n=1):
        words.append(f"did you mean {shown_path((*path[:-1], near[0]))}?")
    elif elsewhere := [key for key in known_keys if key.rpartition(".")[2] == name]:
        words.append(f"did you mean {elsewhere[0]}?")
    words.append(f"known here: {', '.join(unknown.known[:_SHOWN_KEYS])}")
    return "; ".join(words)
