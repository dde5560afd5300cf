"""One step of a script, read from what a configuration file or a test wrote."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, cast

from marshmallow import Schema, ValidationError
from marshmallow import fields as field_of
from marshmallow.validate import OneOf, Range

from mead.errors import ConfigurationError
from mead.protocols import ModelReply, ToolRequest
from mead.providers.errors import SENTENCES
from mead.providers.shape import BROKEN_ARGUMENTS, Json
from mead.turn import Usage

_LONGEST_DELAY_MS: Final = 3_600_000
_REASONS: Final = (*SENTENCES, "not_local")


def _only(*keys: str) -> dict[str, str]:
    return {"unknown": f"is not known here; allowed: {', '.join(keys)}"}


class _CallSchema(Schema):
    error_messages = _only("id", "name", "arguments")
    id = field_of.String()
    name = field_of.String(required=True)
    arguments = field_of.Raw(load_default=dict)


class _UsageSchema(Schema):
    error_messages = _only("input", "output", "cache_read", "cache_write")
    input = field_of.Integer(strict=True, validate=Range(min=0))
    output = field_of.Integer(strict=True, validate=Range(min=0))
    cache_read = field_of.Integer(strict=True, validate=Range(min=0))
    cache_write = field_of.Integer(strict=True, validate=Range(min=0))


class _StepSchema(Schema):
    error_messages = _only(
        "text", "chunks", "delay_ms", "tool_calls", "error", "usage", "stop_reason"
    )
    text = field_of.String()
    chunks = field_of.List(field_of.String())
    delay_ms = field_of.Float(validate=Range(min=0, max=_LONGEST_DELAY_MS))
    tool_calls = cast(Any, field_of.List(field_of.Nested(_CallSchema)))
    error = field_of.String(validate=OneOf(_REASONS))
    usage = field_of.Nested(_UsageSchema)
    stop_reason = field_of.String()


_SCHEMA: Final = _StepSchema()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """A tool call that the scripted model asks for."""

    name: str
    arguments: object
    """An object; anything else stands for arguments that cannot be read."""
    id: str | None = None
    """By default made from the round and the place in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer of a scripted model."""

    chunks: tuple[str, ...] = ()
    """The text, in the pieces that a stream hands out; `text` in a file is one piece."""
    delay_ms: float = 0
    """Waited before each piece (once, when there is none)."""
    tool_calls: tuple[ScriptedCall, ...] = ()
    error: str | None = None
    """A reason of SPEC section 5: the call fails with it after the pieces were handed out."""
    usage: Usage | None = None
    stop_reason: str | None = None
    """By default `tool_use` with tool calls and `end_turn` without."""

    @classmethod
    def read(cls, value: object) -> Self:
        """The step that a text, a table or a Step describes.

        Raises ConfigurationError; each fault begins with its key, as in `.delay_ms: ...`.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls(chunks=(value,))
        if not isinstance(value, Mapping):
            raise ConfigurationError([": must be a text or a table"])
        try:
            loaded = cast(Json, _SCHEMA.load(cast(Mapping[str, Any], value)))
        except ValidationError as error:
            raise ConfigurationError(
                list(_lines(cast(object, error.normalized_messages())))
            ) from None
        if "text" in loaded and "chunks" in loaded:
            raise ConfigurationError([".chunks: cannot stand beside text"])
        return cls._of(loaded)

    @classmethod
    def _of(cls, loaded: Json) -> Self:
        chunks = [loaded["text"]] if "text" in loaded else loaded.get("chunks", [])
        usage = loaded.get("usage")
        return cls(
            chunks=tuple(chunks),
            delay_ms=loaded.get("delay_ms", 0),
            tool_calls=tuple(ScriptedCall(**call) for call in loaded.get("tool_calls", ())),
            error=loaded.get("error"),
            usage=None if usage is None else Usage(**usage),
            stop_reason=loaded.get("stop_reason"),
        )

    def reply(self, round_number: int) -> ModelReply:
        """The answer, as a model gives it in this round of a tool loop."""
        calls = tuple(
            _request(call, f"call_{round_number}_{number}")
            for number, call in enumerate(self.tool_calls)
        )
        usual = "tool_use" if calls else "end_turn"
        return ModelReply(
            text="".join(self.chunks),
            stop_reason=self.stop_reason or usual,
            tool_requests=calls,
            usage=self.usage,
        )


def _request(call: ScriptedCall, own_id: str) -> ToolRequest:
    readable = isinstance(call.arguments, Mapping)
    return ToolRequest(
        id=call.id or own_id,
        name=call.name,
        arguments=dict(cast(Mapping[str, Any], call.arguments)) if readable else {},
        fault=None if readable else BROKEN_ARGUMENTS,
    )


def _lines(messages: object, path: str = "") -> Iterator[str]:
    """Marshmallow's nested messages as one line for each."""
    if isinstance(messages, Mapping):
        for key, inner in cast(Mapping[object, object], messages).items():
            yield from _lines(inner, f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}")
    elif isinstance(messages, list):
        for one in cast(list[object], messages):
            yield f"{path}: {one}"
