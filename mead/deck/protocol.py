"""What a deck's client may say: frames of text in, one typed frame or one fault out.  Pure.

A frame is a JSON object `{"type", "payload"}`; what else it holds is ignored, so that a newer
client can talk to an older server.  Three kinds of fault: one that counts against the client (it
does not speak the protocol), one that does not (it asks for what cannot be), and a prompt that is
refused, which the client learns under its own client_message_id.  Source: seed A9, SPEC section 8.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast, get_args

import orjson

from mead.config.settings import PolicyLevel
from mead.deck.frames import (
    CancelPrompt,
    CancelToolCall,
    CancelTurn,
    ClientFrame,
    ExtendRequest,
    ForgetPermission,
    FrameFault,
    PermissionAnswer,
    PromptFault,
    RespondChoice,
    RespondPermission,
    Resume,
    SendPrompt,
    SetPolicy,
)
from mead.ids import is_uuid4
from mead.turn import RequestedRoute

SUBPROTOCOL: Final = "mead.deck.v1"
"""What a client asks for in its handshake, and what is answered."""

FRAME_BYTES: Final = 65_536
"""The longest frame that is obeyed (seed A9); the transport takes 1 MiB, so that it is told why."""

TEXT_CHARACTERS: Final = 60_000
"""The longest prompt: a frame holds it, with room for what stands around it."""

MAXIMUM_SEQUENCE: Final = 2**53 - 1
"""The greatest whole number that a JavaScript client can hold."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOOL_CHARACTERS: Final = 200
_OPTION_CHARACTERS: Final = 2000


def parse(message: str | bytes) -> ClientFrame:
    """The frame that a client sent.  Raises FrameFault, PromptFault."""
    if isinstance(message, bytes):
        raise FrameFault("binary")
    data = message.encode()
    if len(data) > FRAME_BYTES:
        raise _too_large(data)
    type_, payload = _opened(data)
    read = _READERS.get(type_)
    if read is None:
        raise FrameFault("unknown_type", type_[:_TOOL_CHARACTERS])
    try:
        return read(_Fields(payload))
    except _Misshapen:
        raise FrameFault("invalid_payload", type_, id_of(payload)) from None


def id_of(payload: Mapping[str, Any]) -> str | None:
    """What a frame is about, as far as it says so in a usable way."""
    for name in ("client_message_id", "request_id", "turn_id", "call_id"):
        value = payload.get(name)
        if isinstance(value, str) and _ID.fullmatch(value):
            return value
    return None


def _opened(data: bytes) -> tuple[str, Mapping[str, Any]]:
    """Type and payload of a frame.  Raises FrameFault."""
    try:
        shape = cast(object, orjson.loads(data))
    except orjson.JSONDecodeError:
        raise FrameFault("not_json") from None
    if not isinstance(shape, dict):
        raise FrameFault("not_an_object")
    frame = cast("dict[str, object]", shape)
    type_, payload = frame.get("type"), frame.get("payload", {})
    if not isinstance(type_, str):
        raise FrameFault("unknown_type")
    if not isinstance(payload, dict):
        raise FrameFault("invalid_payload", type_[:_TOOL_CHARACTERS])
    return type_, cast("dict[str, Any]", payload)


def _too_large(data: bytes) -> FrameFault | PromptFault:
    """A prompt that does not fit is told so under its own id; the client can then mark it."""
    try:
        type_, payload = _opened(data)
        message_id = _Fields(payload).message_id("client_message_id")
    except (FrameFault, _Misshapen):
        return FrameFault("too_large")
    if type_ == "prompt.send" and isinstance(payload.get("text"), str):
        return PromptFault(message_id, "too_long", counts=True)
    return FrameFault("too_large")


class _Misshapen(Exception):
    """A field is missing or has a wrong type or range."""


class _Fields:
    """The fields of a payload; each method gives one or raises _Misshapen."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self._payload = payload

    def sequence(self, name: str) -> int:
        value = self._payload.get(name)
        if type(value) is not int or not 0 <= value <= MAXIMUM_SEQUENCE:
            raise _Misshapen
        return value

    def message_id(self, name: str) -> str:
        value = self._payload.get(name)
        if not isinstance(value, str) or not _ID.fullmatch(value):
            raise _Misshapen
        return value

    def maybe(self, name: str, read: Callable[[str], str]) -> str | None:
        return None if self._payload.get(name) is None else read(name)

    def uuid(self, name: str) -> str:
        value = self._payload.get(name)
        if not is_uuid4(value):
            raise _Misshapen
        return cast(str, value)

    def text(self, name: str, maximum: int | None = None) -> str:
        value = self._payload.get(name)
        if not isinstance(value, str) or (maximum is not None and not 0 < len(value) <= maximum):
            raise _Misshapen
        return value

    def one_of(self, name: str, words: tuple[str, ...]) -> str:
        value = self._payload.get(name)
        if not isinstance(value, str) or value not in words:
            raise _Misshapen
        return value

    def raw(self, name: str) -> Any:
        return self._payload.get(name)


def _resume(fields: _Fields) -> Resume:
    return Resume(
        last_sequence=fields.sequence("last_sequence"),
        log_id=fields.maybe("log_id", fields.message_id),
        device_id=fields.maybe("device_id", fields.message_id),
    )


def _send_prompt(fields: _Fields) -> SendPrompt:
    message_id, text = fields.message_id("client_message_id"), fields.text("text")
    if not text.strip():
        raise PromptFault(message_id, "empty")
    if len(text) > TEXT_CHARACTERS:
        raise PromptFault(message_id, "too_long")
    route = fields.raw("route")
    if route is not None and route not in get_args(RequestedRoute):
        raise PromptFault(message_id, "invalid_route")
    return SendPrompt(client_message_id=message_id, text=text, route=route)


def _permission(fields: _Fields) -> RespondPermission:
    answer = fields.one_of("answer", get_args(PermissionAnswer))
    return RespondPermission(
        request_id=fields.uuid("request_id"), answer=cast(PermissionAnswer, answer)
    )


def _choice(fields: _Fields) -> RespondChoice:
    return RespondChoice(
        request_id=fields.uuid("request_id"), option=fields.text("option", _OPTION_CHARACTERS)
    )


def _policy(fields: _Fields) -> SetPolicy:
    return SetPolicy(level=cast(PolicyLevel, fields.one_of("level", get_args(PolicyLevel))))


_READERS: Final[Mapping[str, Callable[[_Fields], ClientFrame]]] = {
    "session.resume": _resume,
    "prompt.send": _send_prompt,
    "prompt.cancel": lambda fields: CancelPrompt(
        client_message_id=fields.message_id("client_message_id")
    ),
    "turn.cancel": lambda fields: CancelTurn(turn_id=fields.uuid("turn_id")),
    "tool_call.cancel": lambda fields: CancelToolCall(call_id=fields.uuid("call_id")),
    "permission.respond": _permission,
    "request.extend": lambda fields: ExtendRequest(request_id=fields.uuid("request_id")),
    "permission.forget": lambda fields: ForgetPermission(
        tool=fields.text("tool", _TOOL_CHARACTERS)
    ),
    "choice.respond": _choice,
    "policy.set": _policy,
}

CLIENT_FRAMES: Final = tuple(_READERS)
"""Every type a client may send."""
