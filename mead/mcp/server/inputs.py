"""What a tool takes: marshmallow fields that check arguments and tell their JSON Schema.

One declaration serves both, so that what a client is told and what is checked cannot differ.  A
fault names the argument and what is allowed, never the value, which may be a prompt.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from mead.mcp.server.envelope import SHOWN_CHARACTERS
from mead.mcp.server.tool import ToolFault

Argument = fields.Field[Any]

FAULTS_SHOWN: Final = 8
"""Of arguments that no tool has; a client may send a hundred thousand of them."""


class _Whole(fields.Integer):
    """A whole number; 5.0 is one in JSON."""

    def _validated(self, value: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return super()._validated(value)


def text(
    description: str,
    *,
    required: bool = False,
    length: tuple[int, int] | None = None,
    one_of: Sequence[str] | None = None,
) -> Argument:
    """A text, of a length in characters, or one of a few."""
    allowed, checks, schema = "a text", cast("list[Any]", []), dict[str, Any]()
    if length is not None:
        low, high = length
        allowed = f"a text of {low} to {high} characters"
        checks = [validate.Length(low, high, error=f"must be {allowed}")]
        schema = {"minLength": low, "maxLength": high}
    if one_of is not None:
        allowed = " or ".join(one_of)
        checks = [validate.OneOf(one_of, error=f"must be {allowed}")]
        schema = {"enum": list(one_of)}
    return fields.String(
        required=required,
        validate=checks,
        error_messages=_messages(allowed),
        metadata={"schema": {"type": "string", **schema, "description": description}},
    )


def whole(description: str, low: int, high: int) -> Argument:
    """A whole number from `low` to `high`, which may be left out."""
    allowed = f"a whole number from {low} to {high}"
    schema = {"type": "integer", "minimum": low, "maximum": high, "description": description}
    return _Whole(
        strict=True,
        validate=validate.Range(low, high, error=f"must be {allowed}"),
        error_messages=_messages(allowed),
        metadata={"schema": schema},
    )


def _messages(allowed: str) -> dict[str, Any]:
    wrong = f"must be {allowed}"
    return {
        "required": f"is missing; it {wrong}",
        "null": wrong,
        "invalid": wrong,
        "invalid_utf8": wrong,
        "too_large": wrong,
    }


class Inputs:
    """The arguments of one tool."""

    def __init__(self, arguments: Mapping[str, Argument]) -> None:
        self._arguments: Final = dict(arguments)
        self._schema: Schema = cast("Any", Schema).from_dict(self._arguments)(unknown=RAISE)

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        properties = {name: one.metadata["schema"] for name, one in self._arguments.items()}
        required = [name for name, one in self._arguments.items() if one.required]
        schema: dict[str, Any] = {"type": "object"}
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = required
        return {**schema, "additionalProperties": False}

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, found to be right.  Raises ToolFault, one line for each that is not."""
        judged = dict(arguments)
        strangers = sorted(name for name in arguments if name not in self._arguments)
        for name in strangers[FAULTS_SHOWN:]:
            del judged[name]
        try:
            return cast("dict[str, Any]", self._schema.load(judged))
        except ValidationError as error:
            faults: dict[str, list[str]] = cast("Any", error).messages
            lines = [self._line(name, faults[name][0]) for name in sorted(faults)]
            if len(strangers) > FAULTS_SHOWN:
                lines.append(f"{len(strangers) - FAULTS_SHOWN} more that do not exist")
            raise ToolFault("invalid_input: " + "\n".join(lines)) from None

    def _line(self, name: str, fault: str) -> str:
        if name not in self._arguments:
            known = ", ".join(self._arguments) or "none"
            return f"{name[:SHOWN_CHARACTERS]}: there is no such argument; allowed: {known}"
        return f"{name}: {fault}"
