"""What a server of the deck may say: a message in, or DeckMisspoke.  Pure.

A client trusts no server to keep to the protocol: what passes here has every field that the type
has, with a value of its kind, so that whoever shows it need not look twice.  Fields and types that
are unknown pass too, for a newer server; so do words that are new.  docs/deck-schema/server.json
says the same in full, and a test holds the two together.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import orjson

from mead.deck.client_errors import DeckMisspoke
from mead.deck.protocol import MAXIMUM_SEQUENCE
from mead.ids import is_uuid4

Message = dict[str, Any]
Check = Callable[[object], bool]
Fields = Mapping[str, Check]
"""The fields of an object; one whose name ends in `?` may be absent."""


def read(data: str | bytes) -> Message:
    """The message that a frame holds.  Raises DeckMisspoke."""
    if isinstance(data, bytes):
        raise DeckMisspoke("a binary frame")
    try:
        shape = cast(object, orjson.loads(data))
    except orjson.JSONDecodeError:
        raise DeckMisspoke("a frame that is not JSON") from None
    if not _MESSAGE(shape):
        raise DeckMisspoke("a frame that is no message")
    message = cast(Message, shape)
    type_, is_event = message["type"], "sequence" in message
    fields = (EVENTS if is_event else UNSEQUENCED).get(type_)
    if fields is None and type_ in (UNSEQUENCED if is_event else EVENTS):
        raise DeckMisspoke(f"{type_} {'with' if is_event else 'without'} a sequence")
    if fields is not None and not _holds(message["payload"], fields):
        raise DeckMisspoke(f"a wrong payload of {type_}")
    return message


def _holds(payload: Mapping[str, object], fields: Fields) -> bool:
    for name, check in fields.items():
        key = name.removesuffix("?")
        if key not in payload:
            if not name.endswith("?"):
                return False
        elif not check(payload[key]):
            return False
    return True


# -- kinds of values -------------------------------------------------------------------------------


def _text(value: object) -> bool:
    return isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _mapping(value: object) -> bool:
    return isinstance(value, dict)


def _whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAXIMUM_SEQUENCE


def _positive(value: object) -> bool:
    return _whole(value) and value != 0


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, cast("list[object]", value)))


def _with(fields: Fields) -> Check:
    return lambda value: isinstance(value, dict) and _holds(cast(Message, value), fields)


# -- the messages ----------------------------------------------------------------------------------

_PROMPT: Final[Fields] = {
    "client_message_id": _text,
    "turn_id": is_uuid4,
    "text": _text,
    "route": _or_null(_text),
    "origin": _text,
    "device_id?": _text,
}
_CALL: Final[Fields] = {
    "turn_id": is_uuid4,
    "call_id": is_uuid4,
    "server": _text,
    "tool": _text,
    "class": _text,
    "arguments": _mapping,
}
_PERMISSION: Final[Fields] = {
    "request_id": is_uuid4,
    "turn_id": is_uuid4,
    "call_id": is_uuid4,
    "tool": _text,
    "risk": _text,
    "details": _mapping,
    "expires_at": _text,
}
_CHOICE: Final[Fields] = {
    "request_id": is_uuid4,
    "turn_id": is_uuid4,
    "prompt": _text,
    "options": _list_of(_text),
    "expires_at": _text,
}
_TURN: Final[Fields] = {
    "turn_id": is_uuid4,
    "client_message_id": _text,
    "started_at": _text,
    "open_calls": _list_of(_with(_CALL)),
}
_LIMITS: Final[Fields] = {
    "frame_bytes": _positive,
    "text_characters": _positive,
    "heartbeat_ms": _positive,
    "idle_timeout_ms": _positive,
    "queue_limit": _whole,
}


def _request(value: object) -> bool:
    return _with(_PERMISSION)(value) or _with(_CHOICE)(value)


_MESSAGE: Final = _with(
    {"type": _text, "at": _text, "payload": _mapping, "sequence?": _positive},
)

UNSEQUENCED: Final[Mapping[str, Fields]] = {
    "session.snapshot": {
        "session_id": is_uuid4,
        "log_id": is_uuid4,
        "first_sequence": _positive,
        "last_sequence": _whole,
        "reset": _flag,
        "gap": _flag,
        "durable": _flag,
        "turn": _or_null(_with(_TURN)),
        "queue": _list_of(_with(_PROMPT)),
        "policy_level": _text,
        "remembered_tools": _list_of(_text),
        "pending": _list_of(_request),
        "title": _or_null(_text),
        "limits": _with(_LIMITS),
    },
    "heartbeat": {},
    "frame.rejected": {"reason": _text, "type?": _text, "id?": _text},
    "prompt.rejected": {"client_message_id": _text, "reason": _text},
}

EVENTS: Final[Mapping[str, Fields]] = {
    "prompt.accepted": _PROMPT,
    "prompt.cancelled": {"client_message_id": _text, "turn_id": is_uuid4, "reason": _text},
    "turn.started": {"turn_id": is_uuid4},
    "turn.routed": {
        "turn_id": is_uuid4,
        "route": _text,
        "route_source": _text,
        "reason": _or_null(_text),
        "provider": _or_null(_text),
        "model": _or_null(_text),
        "host": _or_null(_text),
    },
    "text.delta": {"turn_id": is_uuid4, "text": _text},
    "tool_call.started": _CALL,
    "tool_call.finished": {
        "turn_id": is_uuid4,
        "call_id": is_uuid4,
        "status": _text,
        "summary": _text,
    },
    "permission.requested": _PERMISSION,
    "permission.resolved": {
        "request_id": is_uuid4,
        "outcome": _text,
        "decided_by_device?": _text,
        "decided_by_rule?": _text,
        "decided_by_policy?": _text,
        "remember?": _text,
    },
    "permission.forgotten": {"tool": _text, "device_id": _text},
    "request.extended": {"request_id": is_uuid4, "expires_at": _text, "device_id": _text},
    "choice.requested": _CHOICE,
    "choice.resolved": {
        "request_id": is_uuid4,
        "option": _or_null(_text),
        "decided_by_device?": _text,
    },
    "policy.updated": {"level": _text, "device_id": _text},
    "session.titled": {"title": _text, "device_id?": _or_null(_text)},
    "turn.completed": {
        "turn_id": is_uuid4,
        "stop_reason": _or_null(_text),
        "duration_ms": _whole,
    },
    "turn.failed": {"turn_id": is_uuid4, "reason": _text, "message": _text},
    "metric.updated": {"turn_id": is_uuid4, "name": _text, "value": _or_null(_whole)},
}
