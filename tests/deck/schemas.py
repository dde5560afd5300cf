"""docs/deck-schema, and the recorded messages that it has to fit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator

from tests.deck.record import NAMES, RECORDINGS, lines

SCHEMAS: Final = Path(__file__).parents[2] / "docs" / "deck-schema"


def schema(name: str) -> dict[str, Any]:
    return orjson.loads((SCHEMAS / f"{name}.json").read_bytes())


def alone(name: str, type_: str) -> Draft202012Validator:
    """The schema of one type, strict: a field that it does not name is a fault."""
    whole = schema(name)
    (found,) = (each for each in whole["oneOf"] if each["properties"]["type"]["const"] == type_)
    return Draft202012Validator(strict({**found, "$defs": whole["$defs"]}))


def strict(node: Any) -> Any:
    if isinstance(node, list):
        return [strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: strict(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and "type" in node:
        made["additionalProperties"] = False
    return made


def types_of(name: str) -> list[str]:
    return [each["properties"]["type"]["const"] for each in schema(name)["oneOf"]]


def messages() -> Iterator[dict[str, Any]]:
    """Everything that was recorded."""
    for name in NAMES:
        yield from lines(RECORDINGS / f"{name}.jsonl")
