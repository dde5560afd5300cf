"""Answers that stay small: pages of sessions and turns, and texts cut to a budget.  Pure.

Hosts refuse or cut an answer above 25 000 tokens (MCP.md 2.5), so no answer is longer than
BUDGET_BYTES, counted as it is sent: the JSON, and the same JSON once more as a JSON string.  What
is left out is named, and how to get it.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from mead.mcp.server.tool import ToolFault, to_json
from mead.protocols import StoredSession, TurnReceipt
from mead.turn import Turn, iso_ms

BUDGET_BYTES: Final = 50_000
"""Two bytes a token is the worst that JSON with identifiers comes to; prose has about four."""

COPY_CHARACTERS: Final = 2000
"""What submit_turn repeats of texts that the caller has anyway: its input, and the output."""

_OVERHEAD_BYTES: Final = 2000
"""For everything of an answer but its turns and its output."""

_COPY_BYTES: Final = 20_000
"""For the turn that submit_turn repeats, should its texts be made of escapes."""

_TEXTS: Final = ("output", "input")

_FIELD_CHARACTERS: Final = 100
_WARNINGS: Final = 8
"""What a turn that is too large keeps of each of its other texts, and how many warnings."""

_HINT: Final = "A text was cut. The operator has all of it: flask mead sessions export ID"


# -- sessions --------------------------------------------------------------------------------------


def session_page(
    sessions: Sequence[StoredSession], limit: int, cursor: str | None
) -> dict[str, Any]:
    """At most `limit` sessions, and as many as fit, after the place that `cursor` names.

    Newest first.  Raises ToolFault for a cursor that no earlier page gave.
    """
    ordered = sorted(sessions, key=_place, reverse=True)
    if cursor is not None:
        place = _read_cursor(cursor)
        ordered = [one for one in ordered if _place(one) < place]
    rows: list[dict[str, Any]] = []
    room = BUDGET_BYTES - _OVERHEAD_BYTES
    for one in ordered[:limit]:
        row = _session_row(one)
        room -= _size(row)
        if room < 0:  # titles may be long; one alone always fits
            break
        rows.append(row)
    more = len(ordered) > len(rows) > 0
    return {"sessions": rows, "next_cursor": _cursor(ordered[len(rows) - 1]) if more else None}


def _session_row(session: StoredSession) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "updated_at": iso_ms(session.updated_at),
        "running": session.running,
        "title": session.title,
    }


def _place(session: StoredSession) -> tuple[datetime, str]:
    return session.updated_at, session.session_id


def _cursor(session: StoredSession) -> str:
    text = f"{session.updated_at.isoformat()} {session.session_id}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_cursor(cursor: str) -> tuple[datetime, str]:
    try:
        moment, _, session_id = base64.urlsafe_b64decode(cursor).decode().partition(" ")
        at = datetime.fromisoformat(moment)
    except (binascii.Error, ValueError):
        at, session_id = None, ""
    if at is None or at.tzinfo is None:
        raise ToolFault("invalid_input: cursor: must be the next_cursor of an earlier page")
    return at, session_id


# -- turns -----------------------------------------------------------------------------------------


def history_page(turns: Sequence[Turn], limit: int, before: str | None) -> dict[str, Any]:
    """The newest turns, at most `limit` and as many as fit, or those before the turn `before`.

    Raises ToolFault when no turn has that id.
    """
    end = len(turns) if before is None else _position(turns, before)
    rows: list[dict[str, Any]] = []
    room = BUDGET_BYTES - _OVERHEAD_BYTES
    for turn in reversed(turns[max(0, end - limit) : end]):
        row = _fitted(turn.encode(), BUDGET_BYTES - _OVERHEAD_BYTES)
        size = _size(row)
        if rows and size > room:
            break
        rows.append(row)
        room -= size
    rows.reverse()
    first = end - len(rows)
    page = {
        "turns": rows,
        "total": len(turns),
        "next_before": rows[0]["id"] if rows and first > 0 else None,
    }
    return {**page, "hint": _HINT} if any("cut" in row for row in rows) else page


def _fitted(row: dict[str, Any], budget: int) -> dict[str, Any]:
    """A turn's fields, its texts cut if it alone would be too large."""
    return row if _size(row) <= budget else _cut(_trimmed(row), _TEXTS, budget)


def _trimmed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A turn's fields with all short that should be: whatever came from elsewhere may not be."""
    trimmed: dict[str, Any] = {
        name: value if name in (*_TEXTS, "id", "cut") else _trim(value)
        for name, value in row.items()
    }
    changed = [name for name in row if trimmed[name] != row[name]]
    return {**trimmed, "cut": [*row.get("cut", ()), *changed]} if changed else trimmed


def _trim(value: Any) -> Any:
    if isinstance(value, str):
        return _shorter(value, _FIELD_CHARACTERS)
    if isinstance(value, list):
        return [_trim(item) for item in cast("list[Any]", value)[:_WARNINGS]]
    if isinstance(value, dict):
        return {name: _trim(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _position(turns: Sequence[Turn], turn_id: str) -> int:
    for index, turn in enumerate(turns):
        if turn.id == turn_id:
            return index
    raise ToolFault("invalid_input: before: must be the id of a turn of this session")


def submitted(receipt: TurnReceipt) -> dict[str, Any]:
    """What submit_turn gives back; the turn's copies of long texts are cut."""
    turn = receipt.turn.encode()
    for name in ("input", "output"):
        if turn[name] is not None and len(turn[name]) > COPY_CHARACTERS:
            turn[name] = _shorter(turn[name], COPY_CHARACTERS)
            turn["cut"] = [*turn.get("cut", ()), name]
    answer = {"output": receipt.output, "turn": turn}
    if _size(answer) <= BUDGET_BYTES:
        return answer
    answer["turn"] = _fitted(turn, _COPY_BYTES)
    return _cut(answer, ("output",), BUDGET_BYTES)


# -- usage -----------------------------------------------------------------------------------------


def usage_page(usage: Mapping[str, Any], days: int) -> dict[str, Any]:
    """The ledger's answer with the newest `days` days, and no list longer than fits."""
    page = {**usage, "days": list(usage.get("days", ()))[-days:]}
    cut: set[str] = set()
    while _size(page) > BUDGET_BYTES:
        name = max(("routes", "days", "recent"), key=lambda one: _size(page.get(one) or None))
        rows = page.get(name)
        if not rows:  # what is left is no list
            break
        half = len(rows) // 2
        page[name] = rows[len(rows) - half :] if name == "days" else rows[:half]
        cut.add(name)
    return {**page, "cut": sorted(cut)} if cut else page


# -- sizes -----------------------------------------------------------------------------------------


def _size(value: object) -> int:
    """Bytes of `value` in an answer, where its JSON is sent twice (see `tool.structured`)."""
    data = to_json(value)
    return len(data) + len(to_json(data.decode()))


def _cut(row: Mapping[str, Any], names: Sequence[str], budget: int) -> dict[str, Any]:
    """`row` with the texts `names` cut until it fits, each to an equal share if need be.

    When the rest alone has more than `budget` bytes, nothing but the marks of the cuts is kept.
    """
    room = budget - _size({**row, **dict.fromkeys(names, ""), "cut": [*row.get("cut", ()), *names]})
    needs = {name: _size(row[name]) for name in names if row[name]}
    share = room // len(names)
    long = [name for name in names if needs.get(name, 0) > share]
    if len(long) < len(names):  # what the short ones do not need is the long ones'
        spared = sum(need for name, need in needs.items() if name not in long)
        share = (room - spared) // max(1, len(long))
    shortened = {name: _fitting(row[name], share) for name in long}
    changed = [name for name in long if shortened[name] != row[name]]
    cut = list(dict.fromkeys([*row.get("cut", ()), *changed]))
    return {**row, **shortened, "cut": cut} if cut else dict(row)


def _fitting(text: str, budget: int) -> str:
    """`text`, cut so that it takes at most `budget` bytes; nothing of it if its mark is longer."""
    kept = min(len(text), max(0, budget))  # no character has less than a byte
    while (size := _size(shorter := _shorter(text, kept))) > budget and kept > 0:
        kept = max(0, min(kept - 1, int(kept * budget / size)))
    return shorter


def _shorter(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    return f"{text[:characters]} … [cut: {len(text)} characters in all]"
