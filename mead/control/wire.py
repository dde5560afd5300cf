"""What travels over the control socket: one JSON object a line, one call a connection.  Pure.

client  {"call": "submit", "arguments": {...}}
server  {"event": "text_delta", "text": "..."}            any number, `submit` only
server  {"event": "authorize", "key": 1, "use": {...}}    wants an answer
client  {"key": 1, "answer": true}
server  {"result": ...}  or  {"error": {"code", "message", "reason"?}}    and closes
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, cast

import orjson

from mead import errors
from mead.errors import MeadError, TurnFailed
from mead.protocols import RepairReport, StoredSession, ToolUse, TurnReceipt
from mead.turn import Turn, TurnFacts, iso_ms

SOCKET_NAME: Final = "control.sock"

LINE_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""A whole history may travel as one line; this bounds what a broken peer can make us hold."""


def encode(message: object) -> bytes:
    """One line."""
    return orjson.dumps(message, default=_plain) + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The object on one line.  Raises ValueError for anything else."""
    value = orjson.loads(line)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("dict[str, Any]", value)


def _plain(value: object) -> object:
    match value:
        case TurnReceipt():
            return {"output": value.output, "turn": value.turn.encode()}
        case Turn():
            return value.encode()
        case StoredSession():
            return {**asdict(value), "updated_at": iso_ms(value.updated_at)}
        case ToolUse() | TurnFacts() | RepairReport():
            return asdict(value)
        case Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case _:
            raise TypeError(f"{type(value).__name__} does not travel")


def error_shape(error: MeadError) -> dict[str, str]:
    """An error as it travels."""
    shape = {"code": error.code, "message": error.message}
    if isinstance(error, TurnFailed):
        shape["reason"] = error.reason
    return shape


def error_from(shape: Mapping[str, Any]) -> MeadError:
    """The error that the other side raised; an unknown code is a plain MeadError."""
    code, message = str(shape.get("code")), str(shape.get("message"))
    if code == TurnFailed.code:
        return TurnFailed(str(shape.get("reason")), message)
    return _BY_CODE.get(code, MeadError)(message)


_BY_CODE: Final[dict[str, type[MeadError]]] = {
    cls.code: cls
    for cls in vars(errors).values()
    if isinstance(cls, type)
    and issubclass(cls, MeadError)
    and cls not in (errors.TurnError, TurnFailed, errors.ConfigurationError)
}
