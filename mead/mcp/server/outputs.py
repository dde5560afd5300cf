"""What the tools give back, as JSON Schema.

Objects stay open: a later version may say more, and a client that kept the schema must not choke
on it.
"""

from collections.abc import Mapping
from typing import Any, Final

Shape = Mapping[str, Any]

TEXT: Final[Shape] = {"type": "string"}
COUNT: Final[Shape] = {"type": "integer", "minimum": 0}
FLAG: Final[Shape] = {"type": "boolean"}


def maybe(schema: Shape) -> Shape:
    """The schema, or null.  Not as a list of types, which some hosts cannot translate."""
    return {"anyOf": [schema, {"type": "null"}]}


MAYBE_TEXT: Final = maybe(TEXT)
MAYBE_COUNT: Final = maybe(COUNT)


def shape(properties: Mapping[str, Shape], *optional: str) -> Shape:
    """An object with these properties, all of them required but `optional`."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def listed(items: Shape) -> Shape:
    """An array."""
    return {"type": "array", "items": items}


def described(schema: Shape, description: str) -> Shape:
    """The schema with words."""
    return {**schema, "description": description}


CUT: Final[Shape] = described(
    listed(TEXT), "Names of texts that were cut to keep the answer small; left out if none was."
)

_TOKENS: Final = ("input", "output", "cache_read", "cache_write")

TURN: Final[Shape] = shape(
    {
        "id": TEXT,
        "input": TEXT,
        "output": MAYBE_TEXT,
        "status": {
            "type": "string",
            "enum": ["running", "completed", "failed", "timeout", "interrupted", "cancelled"],
        },
        "error": maybe(shape({"code": TEXT, "message": TEXT})),
        "started_at": described(TEXT, "UTC, ISO 8601, milliseconds"),
        "finished_at": MAYBE_TEXT,
        "durable": described(FLAG, "Whether the turn's ending is known to be on disk."),
        "route": described(MAYBE_TEXT, "local or cloud"),
        "route_source": described(MAYBE_TEXT, "classified, forced or default"),
        "route_reason": MAYBE_TEXT,
        "provider": MAYBE_TEXT,
        "model": MAYBE_TEXT,
        "host": described(MAYBE_TEXT, "address:port; null when no network was used"),
        "usage": described(
            maybe(shape(dict.fromkeys(_TOKENS, MAYBE_COUNT))), "Tokens; null when unknown."
        ),
        "tool_calls": COUNT,
        "stop_reason": MAYBE_TEXT,
        "warnings": listed(TEXT),
        "cut": CUT,
    },
    "cut",
)

SESSION: Final[Shape] = shape({"session_id": TEXT})

SESSIONS: Final[Shape] = shape(
    {
        "sessions": listed(
            shape({"session_id": TEXT, "updated_at": TEXT, "running": FLAG, "title": MAYBE_TEXT})
        ),
        "next_cursor": described(MAYBE_TEXT, "Pass it as cursor for older ones; null at the end."),
    }
)

SUBMITTED: Final[Shape] = shape({"output": TEXT, "turn": TURN, "cut": CUT}, "cut")

HISTORY: Final[Shape] = shape(
    {
        "turns": described(listed(TURN), "Oldest first."),
        "total": described(COUNT, "Turns of the whole conversation."),
        "next_before": described(MAYBE_TEXT, "Pass it as before for older ones; null at the end."),
        "hint": TEXT,
    },
    "hint",
)

STOPPED: Final[Shape] = shape({"session_id": TEXT, "stopped": FLAG})

DELETED: Final[Shape] = shape({"session_id": TEXT, "deleted": FLAG})

COMPACTED: Final[Shape] = shape({"bytes_before": COUNT, "bytes_after": COUNT})

_COUNTS: Final[Shape] = {"type": "object", "additionalProperties": maybe({"type": "number"})}
_ROW: Final[Shape] = {"type": "object"}

USAGE: Final[Shape] = shape(
    {
        "session_id": described(TEXT, "Only for the totals of one session."),
        "totals": _COUNTS,
        "routes": described(listed(_ROW), "Per route, provider and model."),
        "days": described(listed(_ROW), "Per UTC day, the newest of them, oldest first."),
        "recent": described(listed(_ROW), "The latest turns, newest first."),
        "cut": CUT,
    },
    "session_id",
    "routes",
    "days",
    "recent",
    "cut",
)
