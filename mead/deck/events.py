"""The events of a deck: what its log is made of and its clients are sent.  Pure.

An event is a JSON object `{"type", "sequence", "at", "payload"}`; the bytes that are logged are the
bytes that are sent.  Source: SPEC section 8, the table of server events.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, Self, cast

import orjson

EventType = Literal[
    "prompt.accepted",
    "prompt.cancelled",
    "turn.started",
    "turn.routed",
    "text.delta",
    "tool_call.started",
    "tool_call.finished",
    "permission.requested",
    "permission.resolved",
    "permission.forgotten",
    "request.extended",
    "choice.requested",
    "choice.resolved",
    "policy.updated",
    "session.titled",
    "turn.completed",
    "turn.failed",
    "metric.updated",
]
Outcome = Literal["allow_once", "allow_always", "reject_once", "expired"]
CancelReason = Literal["by_person", "stale", "stopped"]

_UNSYNCED: Final = frozenset(
    {"turn.routed", "text.delta", "tool_call.started", "tool_call.finished", "session.titled"}
)
"""What `storage.fsync = "turn"` writes without waiting for the disk; the rest is synced first."""


class NewEvent(NamedTuple):
    """An event that has no place in a log yet."""

    type: EventType
    payload: dict[str, Any]
    at: str | None = None
    """When it happened, if that was not just now."""

    @property
    def is_synced(self) -> bool:
        """Whether `storage.fsync = "turn"` has it on the disk before anyone is sent it."""
        return self.type not in _UNSYNCED


class Event(NamedTuple):
    """An event in its place."""

    type: EventType
    sequence: int
    at: str
    payload: dict[str, Any]

    def encode(self) -> bytes:
        """The bytes that are logged and sent."""
        shape = {
            "type": self.type,
            "sequence": self.sequence,
            "at": self.at,
            "payload": self.payload,
        }
        return orjson.dumps(shape)

    @classmethod
    def decode(cls, shape: Mapping[str, Any]) -> Self:
        """The event that `encode` wrote.  Another shape: KeyError or TypeError."""
        sequence, at, payload = shape["sequence"], shape["at"], shape["payload"]
        if type(sequence) is not int or not isinstance(at, str) or not isinstance(payload, dict):
            raise TypeError("not an event")
        return cls(shape["type"], sequence, at, cast("dict[str, Any]", payload))


def told(type_: str, at: str, payload: Mapping[str, Any]) -> bytes:
    """The bytes of a message that is in no log: it has no sequence."""
    return orjson.dumps({"type": type_, "at": at, "payload": payload})
