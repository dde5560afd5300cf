"""One function for each event of a deck, so that no other module spells a payload.  Pure.

Source: SPEC section 8, the table of server events.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from mead.config.settings import PolicyLevel
from mead.deck.events import CancelReason, NewEvent, Outcome
from mead.ids import new_uuid
from mead.protocols import CallStatus, Origin, ToolClass, ToolUse
from mead.turn import TurnFacts

DELTA_BYTES: Final = 32 * 1024
"""The longest text of one text.delta, in UTF-8."""

# -- prompts ---------------------------------------------------------------------------------------


def prompt_accepted(
    *,
    client_message_id: str,
    turn_id: str,
    text: str,
    route: str | None,
    origin: Origin,
    device_id: str | None = None,
    at: str | None = None,
) -> NewEvent:
    """A prompt is in the queue; before anything runs."""
    payload: dict[str, Any] = {
        "client_message_id": client_message_id,
        "turn_id": turn_id,
        "text": text,
        "route": route,
        "origin": origin,
    }
    if device_id is not None:
        payload["device_id"] = device_id
    return NewEvent("prompt.accepted", payload, at)


def prompt_cancelled(client_message_id: str, turn_id: str, reason: CancelReason) -> NewEvent:
    """A prompt was taken out of the queue."""
    payload = {"client_message_id": client_message_id, "turn_id": turn_id, "reason": reason}
    return NewEvent("prompt.cancelled", payload)


# -- turns -----------------------------------------------------------------------------------------


def turn_started(turn_id: str, at: str | None = None) -> NewEvent:
    """A turn is about to be submitted."""
    return NewEvent("turn.started", {"turn_id": turn_id}, at)


def turn_routed(turn_id: str, facts: TurnFacts, at: str | None = None) -> NewEvent:
    """The router has chosen where a turn goes."""
    payload = {
        "turn_id": turn_id,
        "route": facts.route,
        "route_source": facts.route_source,
        "reason": facts.route_reason,
        "provider": facts.provider,
        "model": facts.model,
        "host": facts.host,
    }
    return NewEvent("turn.routed", payload, at)


def text_deltas(turn_id: str, text: str, at: str | None = None) -> list[NewEvent]:
    """As few deltas as DELTA_BYTES allows."""
    return [
        NewEvent("text.delta", {"turn_id": turn_id, "text": piece}, at) for piece in pieces(text)
    ]


def pieces(text: str, maximum_bytes: int = DELTA_BYTES) -> list[str]:
    """`text` cut into parts of at most so many bytes of UTF-8."""
    if len(text) * 4 <= maximum_bytes:
        return [text] if text else []
    parts: list[str] = []
    data, start = text.encode(errors="replace"), 0
    while start < len(data):
        end = min(start + maximum_bytes, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # not inside a character
            end -= 1
        parts.append(data[start:end].decode())
        start = end
    return parts


def turn_completed(
    turn_id: str, stop_reason: str | None, duration_ms: int, at: str | None = None
) -> NewEvent:
    """A turn has its answer."""
    payload = {"turn_id": turn_id, "stop_reason": stop_reason, "duration_ms": duration_ms}
    return NewEvent("turn.completed", payload, at)


def turn_failed(turn_id: str, reason: str, message: str, at: str | None = None) -> NewEvent:
    """A turn ended without an answer."""
    payload = {"turn_id": turn_id, "reason": reason, "message": message}
    return NewEvent("turn.failed", payload, at)


def metrics(
    turn_id: str, tokens_in: int | None, tokens_out: int | None, at: str | None = None
) -> list[NewEvent]:
    """The two that end every turn."""
    values = (("tokens_in", tokens_in), ("tokens_out", tokens_out))
    return [
        NewEvent("metric.updated", {"turn_id": turn_id, "name": name, "value": value}, at)
        for name, value in values
    ]


# -- tool calls and what is asked about them -------------------------------------------------------


def tool_call_started(turn_id: str, use: ToolUse, arguments: Mapping[str, Any]) -> NewEvent:
    """`arguments` as `mead.deck.excerpt` cuts them."""
    payload = {
        "turn_id": turn_id,
        "call_id": use.call_id,
        "server": use.server,
        "tool": use.tool,
        "class": use.kind,
        "arguments": arguments,
    }
    return NewEvent("tool_call.started", payload)


def tool_call_finished(turn_id: str, call_id: str, status: CallStatus, summary: str) -> NewEvent:
    """A tool card is closed, whether the call ran or not."""
    payload = {"turn_id": turn_id, "call_id": call_id, "status": status, "summary": summary}
    return NewEvent("tool_call.finished", payload)


def permission_requested(
    turn_id: str, use: ToolUse, arguments: Mapping[str, Any], expires_at: str
) -> NewEvent:
    """A call may not run before this is resolved."""
    payload = {
        "request_id": new_uuid(),
        "turn_id": turn_id,
        "call_id": use.call_id,
        "tool": use.name,
        "risk": risk_of(use.kind),
        "details": arguments,
        "expires_at": expires_at,
    }
    return NewEvent("permission.requested", payload)


def risk_of(kind: ToolClass) -> Literal["low", "high"]:
    """How the tool's class is told to a person."""
    return "low" if kind == "read" else "high"


def permission_resolved(
    request_id: str,
    outcome: Outcome,
    *,
    by_device: str | None = None,
    by_rule: str | None = None,
    by_policy: PolicyLevel | None = None,
    remember: str | None = None,
) -> NewEvent:
    """At most one of the three `by_` is given; `remember` is the tool of an `allow_always`."""
    payload: dict[str, Any] = {"request_id": request_id, "outcome": outcome}
    deciders = (
        ("decided_by_device", by_device),
        ("decided_by_rule", by_rule),
        ("decided_by_policy", by_policy),
        ("remember", remember),
    )
    payload.update((name, value) for name, value in deciders if value is not None)
    return NewEvent("permission.resolved", payload)


def permission_forgotten(tool: str, device_id: str) -> NewEvent:
    """A rule is taken back."""
    return NewEvent("permission.forgotten", {"tool": tool, "device_id": device_id})


def request_extended(request_id: str, expires_at: str, device_id: str) -> NewEvent:
    """A person asked for more time."""
    payload = {"request_id": request_id, "expires_at": expires_at, "device_id": device_id}
    return NewEvent("request.extended", payload)


def choice_requested(
    turn_id: str, prompt: str, options: Sequence[str], expires_at: str
) -> NewEvent:
    """The model asks the person to choose."""
    payload = {
        "request_id": new_uuid(),
        "turn_id": turn_id,
        "prompt": prompt,
        "options": list(options),
        "expires_at": expires_at,
    }
    return NewEvent("choice.requested", payload)


def choice_resolved(request_id: str, option: str | None, by_device: str | None) -> NewEvent:
    """The person chose, or nobody did in time."""
    payload: dict[str, Any] = {"request_id": request_id, "option": option}
    if by_device is not None:
        payload["decided_by_device"] = by_device
    return NewEvent("choice.resolved", payload)


def policy_updated(level: PolicyLevel, device_id: str) -> NewEvent:
    """The level of permissions changed."""
    return NewEvent("policy.updated", {"level": level, "device_id": device_id})


def session_titled(title: str, device_id: str | None) -> NewEvent:
    """A person named the conversation."""
    payload: dict[str, Any] = {"title": title}
    if device_id is not None:
        payload["device_id"] = device_id
    return NewEvent("session.titled", payload)
