"""From the route signal to a ledger event: what arrives is checked before it is counted.  Pure."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from mead.turn import iso_ms

_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "tool_calls",
)
_COUNT_LIMIT: Final = 2**53
"""Above that a number is no count (and no longer exact in JSON readers)."""


def turn_event(fields: Mapping[str, object], at: datetime) -> dict[str, Any] | None:
    """The event for one emission of `signals.route`, or None when it cannot be read."""
    route, status = fields.get("route"), fields.get("status")
    duration = fields.get("duration_ms")
    named = {name: fields.get(name) for name in ("provider", "model", "session_id")}
    counts = {name: fields.get(name) for name in _COUNTS}
    readable = (
        route in ("local", "cloud")
        and status in ("ok", "error")
        and isinstance(duration, int | float)
        and math.isfinite(duration)
        and duration >= 0
        and all(value is None or isinstance(value, str) for value in named.values())
        and all(_is_count(value) for value in counts.values())
    )
    if not readable:
        return None
    return {
        "type": "turn",
        "at": iso_ms(at),
        "route": route,
        "route_source": str(fields.get("route_source")),
        "status": status,
        "duration_ms": round(float(duration), 3),  # pyright: ignore[reportArgumentType]
        **named,
        **counts,
    }


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _COUNT_LIMIT
