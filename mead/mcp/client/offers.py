"""What a server says about its tools, read with bounds.  Pure.

Nothing here decides what a model may see: that is the configuration's alone (policy.py).
Source: seed A6, Bounds on what a server says.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, cast

import orjson

from mead.mcp.jsonrpc import object_or_empty

MAXIMUM_DESCRIPTION_CHARACTERS: Final = 2000
MAXIMUM_SCHEMA_BYTES: Final = 20_000
PERMISSIVE: Final[Mapping[str, Any]] = MappingProxyType({"type": "object"})
"""In place of a schema that cannot be used: any arguments; the server checks them anyway."""

HEADER_KEY: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN_VALUE: Final = re.compile(r"([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?")
_ENCODED_VALUE: Final = re.compile(r"=\?base64\?.*\?=")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool that a server offers."""

    name: str
    description: str
    schema: Mapping[str, Any]
    mirrored: Mapping[Path, str]
    """Arguments that travel as headers too (modern HTTP): where each is -> its header's name."""

    def headers(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """The `Mcp-Param-*` headers of a call; an argument that is absent or null has none."""
        found: dict[str, str] = {}
        if not self.mirrored:
            return found
        for path, token in self.mirrored.items():
            text = _scalar(_at(arguments, path))
            if text is not None:
                found[f"Mcp-Param-{token}"] = header_value(text)
        return found


def read_page(result: Mapping[str, Any], *, mirrors: bool) -> dict[str, Offer]:
    """The usable tools of one `tools/list` result, by name.

    With `mirrors` a tool whose `x-mcp-header` marks are not valid is left out, as the modern
    revision demands of HTTP clients.
    """
    tools = result.get("tools")
    found: dict[str, Offer] = {}
    for shape in cast("list[object]", tools) if isinstance(tools, list) else []:
        offer = _offer(object_or_empty(shape), mirrors)
        if offer is not None:
            found[offer.name] = offer
    return found


def _offer(shape: Mapping[str, Any], mirrors: bool) -> Offer | None:
    name = shape.get("name")
    if not isinstance(name, str) or not name:
        return None
    raw = shape.get("inputSchema")
    mirrored = _mirrored(raw) if mirrors else {}
    if mirrored is None:
        return None
    return Offer(
        name=name,
        description=_description(shape)[:MAXIMUM_DESCRIPTION_CHARACTERS],
        schema=_schema(raw),
        mirrored=mirrored,
    )


def _description(shape: Mapping[str, Any]) -> str:
    """A tool without a description is described by its title: providers want one."""
    annotations = object_or_empty(shape.get("annotations"))
    for text in (shape.get("description"), shape.get("title"), annotations.get("title")):
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _schema(raw: object) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        return PERMISSIVE
    schema = cast("dict[str, Any]", raw)
    if schema.get("type", "object") != "object":
        return PERMISSIVE
    try:
        size = len(orjson.dumps(schema))
    except (TypeError, RecursionError):  # nested deeper than orjson writes
        return PERMISSIVE
    return PERMISSIVE if size > MAXIMUM_SCHEMA_BYTES else {"type": "object", **schema}


# -- arguments that travel as headers --------------------------------------------------------------

_SUBSCHEMA: Final = frozenset(
    (
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_SUBSCHEMA_LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_SUBSCHEMA_MAPS: Final = frozenset(
    ("$defs", "definitions", "dependentSchemas", "patternProperties")
)


def _mirrored(schema: object) -> dict[Path, str] | None:
    """Where the marked arguments are; None when a mark is not valid.

    Valid is a mark with an HTTP token, unique whatever its case, on a string, integer or boolean
    that is reached from the root through `properties` alone.
    """
    found: dict[Path, str] = {}
    taken: set[str] = set()
    for path, part in _parts(schema):
        if HEADER_KEY not in part:
            continue
        token = part[HEADER_KEY]
        if (
            not path
            or not isinstance(token, str)
            or _TOKEN.fullmatch(token) is None
            or part.get("type") not in ("string", "integer", "boolean")
            or token.lower() in taken
        ):
            return None
        taken.add(token.lower())
        found[path] = token
    return found


def _parts(schema: object) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Every schema inside a schema; the path is None off the chain of `properties`."""
    stack: list[tuple[Path | None, object]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        part = cast("dict[str, Any]", node)
        yield path, part
        for key, value in part.items():
            stack.extend(_below(path, key, value))


def _below(path: Path | None, key: str, value: object) -> Sequence[tuple[Path | None, object]]:
    if key == "properties" and isinstance(value, dict):
        named = cast("dict[str, object]", value)
        return [(None if path is None else (*path, name), sub) for name, sub in named.items()]
    if key in _SUBSCHEMA:
        return [(None, value)]
    if key in _SUBSCHEMA_LISTS and isinstance(value, list):
        return [(None, sub) for sub in cast("list[object]", value)]
    if key in _SUBSCHEMA_MAPS and isinstance(value, dict):
        return [(None, sub) for sub in cast("dict[str, object]", value).values()]
    return ()


def _at(arguments: Mapping[str, Any], path: Path) -> object:
    node: object = arguments
    for key in path:
        node = object_or_empty(node).get(key)
    return node


def _scalar(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def header_value(text: str) -> str:
    """The text as an HTTP header can carry it: as it is, or in MCP's base64 envelope."""
    if _PLAIN_VALUE.fullmatch(text) and not _ENCODED_VALUE.fullmatch(text):
        return text
    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="
