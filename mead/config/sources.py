"""The sources of the settings, merged: a TOML file, the environment, code; later ones win."""

import ast
import json
import re
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from mead.config.faults import ENVIRONMENT, KeyPath, shown_path
from mead.config.places import read_regular, reason
from mead.config.values import EnvironmentValue, Refused, kind, plain, quoted, short

FILE_VARIABLE: Final = "MEAD_CONFIG"
FILE_NAME: Final = "mead.toml"
FILE_MAXIMUM_BYTES: Final = 1_048_576
PREFIX: Final = "MEAD_"
SEPARATOR: Final = "__"
DEFAULT: Final = "default"

_LONGEST_NAME: Final = 200
"""Characters of the name of a file or variable that are shown."""
_SERVICE_ADDRESSES: Final = ("tcp://", "udp://")
"""What Kubernetes puts into MEAD_MCP_SERVER_PORT for a service called mead-mcp-server."""
_POSITION: Final = re.compile(r"\(at ([^()]*)\)$")
_TWICE: Final = re.compile(r"Cannot (?:declare|redefine namespace) (\(.*\))(?: twice)? \(at ")
_REASONS: Final = {
    "Cannot overwrite a value": "a key that is there already",
    "Duplicate inline table key": "a key that is there already",
    "Expected '=' after a key": "no = after a key",
    "Expected \"'": "a text that does not end",
    "Expected ']": "no ] at the end of a table's name",
    "Expected newline or end of document": "more on the line than one setting",
    "Invalid value": "a value that is none; a text needs quotation marks",
    "Unclosed array": "a list that does not end",
    "Unclosed inline table": "a table in braces that does not end",
    "Unescaped '\\' in a string": "a \\ in a text; write it twice, or put the text in '...'",
    "Unterminated string": "a text that does not end",
}
"""What the parser says first, and what is passed on: nothing that could be of a value."""


class Tree:
    """What the sources said so far, and which of them said it."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.faults: list[str] = []
        self._sources: dict[KeyPath, str] = {}

    def add(self, values: object, source: str) -> None:
        """Lay a whole mapping over what is there."""
        try:
            table = plain(values)
        except Refused as refused:
            self.faults.append(f"{source}: found {refused.found}; allowed: tables with text keys")
            return
        if isinstance(table, dict):
            self._lay(cast(dict[str, Any], table), self.values, (), source)
        else:
            self.faults.append(f"{source}: found {kind(values)}; allowed: a table")

    def put(self, path: tuple[str, ...], value: object, source: str) -> None:
        """Lay one value over what is there."""
        for parent in reversed(path):
            value = {parent: value}
        self.add(value, source)

    def has(self, *path: str | int) -> bool:
        """Whether a source said anything but null of this key."""
        return self.at(*path) is not None

    def at(self, *path: str | int) -> Any:
        """What was said of this key, or None."""
        value: Any = self.values
        for part in path:
            if not isinstance(value, dict | list):
                return None
            try:
                value = cast(Any, value)[part]
            except (LookupError, TypeError):
                return None
        return value

    def source_of(self, path: KeyPath) -> str | None:
        """Who said what stands at this key; of a missing one, who gave its table."""
        for end in range(len(path), 0, -1):
            source = self._sources.get(path[:end])
            if source is not None:
                return source
        for start in (path, path[:-1]):
            for key, source in self._sources.items():
                if start and key[: len(start)] == start:
                    return source
        return None

    def _lay(self, over: dict[str, Any], under: dict[str, Any], path: KeyPath, source: str) -> None:
        for key, value in over.items():
            here = (*path, key)
            if isinstance(value, dict) and (value or isinstance(under.get(key), dict)):
                below = self._table(under, key, here, source)
                self._lay(cast(dict[str, Any], value), below, here, source)
            else:
                under[key] = value
                self._sources[here] = source

    def _table(self, under: dict[str, Any], key: str, here: KeyPath, source: str) -> dict[str, Any]:
        below = under.get(key)
        if isinstance(below, dict):
            return cast(dict[str, Any], below)
        if below is not None:
            where = f"{shown_path(here)} ({self.source_of(here)})"
            self.faults.append(f"{where}: found {kind(below)}; {source} needs a table there")
        under[key] = {}
        return cast(dict[str, Any], under[key])


def add_file(tree: Tree, environ: Mapping[str, str], directory: Path) -> None:
    """Lay the TOML file over the tree.  Blocks on: disk (at boot)."""
    chosen = environ.get(FILE_VARIABLE, "").strip()
    name = short(chosen or FILE_NAME, _LONGEST_NAME)
    try:
        path = directory / Path(chosen or FILE_NAME).expanduser()
        tree.add(_toml(read_regular(path, FILE_MAXIMUM_BYTES)), name)
    except FileNotFoundError:
        if chosen:
            tree.faults.append(
                f"{FILE_VARIABLE}: found {quoted(name)}, which does not exist; allowed: a TOML file"
            )
    except (OSError, RuntimeError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "no path"
        why = error.found if isinstance(error, Refused) else why
        tree.faults.append(f"{name}: found {why}; allowed: a readable TOML file")


def add_environment(tree: Tree, environ: Mapping[str, str], known: Collection[str]) -> None:
    """Lay `MEAD_<SECTION>__<KEY>`, and whole sections in JSON, over the tree.

    Other names without `__` are left alone, since platforms set such ones by themselves
    (MEAD_SERVICE_HOST), but for a `known` key whose `__` was written `_`.
    """
    sections = {variable.partition(SEPARATOR)[0] for variable in known}
    flattened = {variable.replace(SEPARATOR, "_"): variable for variable in known}
    for name in sorted(environ):
        if name in sections or (name.startswith(PREFIX) and SEPARATOR in name):
            path = tuple(name.removeprefix(PREFIX).lower().split(SEPARATOR))
            source = ENVIRONMENT + short(name, _LONGEST_NAME)
            tree.put(path, environment_value(environ[name]), source)
        elif name in flattened and not environ[name].startswith(_SERVICE_ADDRESSES):
            tree.faults.append(f"{name}: unknown variable; did you mean {flattened[name]}?")


def _toml(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        position = _POSITION.search(str(error))
        where = "" if position is None else f", at {position.group(1)}"
        raise Refused(f"what is not TOML{where}{_why(str(error))}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"what is not UTF-8, at byte {error.start}") from None
    except (RecursionError, ValueError):
        raise Refused("numbers or nesting that no setting needs") from None


def _why(message: str) -> str:
    """The parser's reason, with a table's name but without any value; "" if it is another."""
    twice = _TWICE.match(message)
    if twice is not None:
        with suppress(ValueError, SyntaxError):
            table = shown_path(ast.literal_eval(twice.group(1)))
            return f" (the table {table} is there twice: replace the first one)"
    found = (why for start, why in _REASONS.items() if message.startswith(start))
    return "".join(f" ({why})" for why in found)


def environment_value(text: str) -> object:
    """JSON where it is JSON, else the text."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] in ("[", "{"):
            where = f"line {error.lineno} column {error.colno}"
            return EnvironmentValue(raw=text, value=None, broken=where)
        return text
    except (RecursionError, ValueError):
        return text
    if isinstance(value, bool | int | float):
        return EnvironmentValue(raw=text, value=value)
    return value


def _no_constant(name: str) -> NoReturn:
    """NaN and Infinity are no JSON."""
    raise ValueError
