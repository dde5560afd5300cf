"""A tool as the server offers it, and what a call of it gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

Watch = Callable[[str], None]
"""Takes each fragment of the answer as it grows; neither waits nor raises."""


class ToolFault(Exception):
    """The call did not do what was asked; `text` says why to the model that asked."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gives back."""

    content: Sequence[Mapping[str, Any]]
    structured: orjson.Fragment | None = None
    is_error: bool = False

    def shape(self) -> dict[str, Any]:
        """The result of tools/call, without what an era adds."""
        shape: dict[str, Any] = {"content": self.content, "isError": self.is_error}
        if self.structured is not None:
            shape["structuredContent"] = self.structured
        return shape


def structured(value: Mapping[str, Any]) -> ToolResult:
    """A result that is one JSON object, and the same JSON as text for hosts that read only that."""
    data = to_json(value)
    content = ({"type": "text", "text": data.decode()},)
    return ToolResult(content, structured=orjson.Fragment(data))


def plain(text: str, *, is_error: bool = False) -> ToolResult:
    """A result that is one text."""
    return ToolResult(({"type": "text", "text": text},), is_error=is_error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool.  `run(arguments, watch)` gives its result or raises ToolFault."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[[Mapping[str, Any], Watch | None], ToolResult]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, bool] | None = None
    shows_progress: bool = False
    """Whether its answer can be watched as it grows."""
    needs: tuple[str, ...] = ()
    """Capabilities that its client must declare (`sampling`, ...); none of Mead's own needs any."""

    def definition(self) -> dict[str, Any]:
        """The tool as tools/list shows it."""
        shape: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.output_schema is not None:
            shape["outputSchema"] = self.output_schema
        if self.annotations is not None:
            shape["annotations"] = {"title": self.title, **self.annotations}
        return shape


def to_json(value: object) -> bytes:
    """`value` as JSON; half of a surrogate pair, which no JSON may hold, becomes `?`."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_without_surrogates(value))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {key: _without_surrogates(item) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in cast("Sequence[object]", value)]
    return value
