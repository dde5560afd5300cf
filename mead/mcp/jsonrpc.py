"""JSON-RPC 2.0 as MCP uses it, one message at a time: bytes in, messages out, and back.  Pure.

    Request       id, method, params     wants an answer
    Notification      method, params     wants none
    Response      id, result             the answer
    Failure       id, error              the answer that is an error; the id may be unknown

Params are kept as they came (MCP wants an object; who reads them says -32602 to anything else).
Batches ended with revision 2025-06-18: an array is no message here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

Id = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022


class Malformed(Exception):
    """These bytes are no JSON-RPC message; `code` is the one to answer with."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotJson(Exception):
    """A message holds something that JSON cannot say (half of a surrogate pair, say)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer."""

    id: Id
    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants no answer."""

    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to the request with that id."""

    id: Id
    result: Any


@dataclass(frozen=True, slots=True)
class Error:
    """What went wrong with a request."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer to a request that went wrong; without an id when that could not be read."""

    id: Id | None
    error: Error


Message = Request | Notification | Response | Failure


def decode(data: bytes | bytearray | str) -> Message:
    """The one message in `data`.  Raises Malformed."""
    try:
        shape: object = orjson.loads(data)
    except ValueError:
        raise Malformed(PARSE_ERROR, "the message is not JSON") from None
    return from_shape(shape)


def decode_each(data: bytes | bytearray | str, limit: int) -> list[Message]:
    """The messages in `data`, which may be a batch (revision 2025-03-26) of at most `limit`.

    Raises Malformed.
    """
    try:
        shape: object = orjson.loads(data)
    except ValueError:
        raise Malformed(PARSE_ERROR, "the message is not JSON") from None
    if not isinstance(shape, list):
        return [from_shape(shape)]
    batch = cast("list[object]", shape)
    if len(batch) > limit:
        raise Malformed(INVALID_REQUEST, "there are too many messages in one array")
    return [from_shape(one) for one in batch]


def from_shape(shape: object) -> Message:
    """The message that a JSON value describes.  Raises Malformed."""
    if not isinstance(shape, dict):
        raise Malformed(INVALID_REQUEST, "a message is one JSON object")
    fields = cast("dict[str, Any]", shape)
    if fields.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, '"jsonrpc" must be "2.0"')
    if "method" in fields:
        return _call(fields)
    return _answer(fields)


def _call(fields: dict[str, Any]) -> Request | Notification:
    method = fields["method"]
    if not isinstance(method, str):
        raise Malformed(INVALID_REQUEST, '"method" must be a string')
    if "id" not in fields:
        return Notification(method, fields.get("params"))
    return Request(_id(fields["id"]), method, fields.get("params"))


def _answer(fields: dict[str, Any]) -> Response | Failure:
    id_ = fields.get("id")
    if ("result" in fields) == ("error" in fields):
        raise Malformed(INVALID_REQUEST, 'a message has "method", "result" or "error"')
    if "result" in fields:
        return Response(_id(id_), fields["result"])
    return Failure(None if id_ is None else _id(id_), _error(fields["error"]))


def _id(value: object) -> Id:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Malformed(INVALID_REQUEST, '"id" must be a string or a whole number')
    return value


def _error(value: object) -> Error:
    shape = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    code, message = shape.get("code"), shape.get("message")
    if isinstance(code, bool) or not isinstance(code, int):
        raise Malformed(INVALID_REQUEST, '"error" must have a whole number as its "code"')
    return Error(code, message if isinstance(message, str) else "", shape.get("data"))


def encode(message: Message) -> bytes:
    """The message as UTF-8 JSON on one line, without the line's end.  Raises NotJson."""
    try:
        return orjson.dumps(to_shape(message))
    except (TypeError, RecursionError):
        raise NotJson from None


def to_shape(message: Message) -> dict[str, Any]:
    """The message as a JSON value; params and data that are None are left out."""
    if isinstance(message, Response):
        return {"jsonrpc": "2.0", "id": message.id, "result": message.result}
    if isinstance(message, Failure):
        return _failure_shape(message)
    shape: dict[str, Any] = {"jsonrpc": "2.0", "method": message.method}
    if isinstance(message, Request):
        shape["id"] = message.id
    _put(shape, "params", message.params)
    return shape


def _failure_shape(message: Failure) -> dict[str, Any]:
    error = message.error
    shape: dict[str, Any] = {"jsonrpc": "2.0"}
    _put(shape, "id", message.id)
    shape["error"] = {"code": error.code, "message": error.message}
    _put(shape["error"], "data", error.data)
    return shape


def _put(shape: dict[str, Any], key: str, value: object) -> None:
    if value is not None:
        shape[key] = value


def object_or_empty(value: object) -> Mapping[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
