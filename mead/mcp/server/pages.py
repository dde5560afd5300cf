"""Answers that stay small: pages of sessions and turns, and texts cut to a budget.  Pure.

Hosts refuse or cut an answer above 25 000 tokens (MCP.md 2.5), so no answer's JSON is longer than
BUDGET_BYTES; what is left out is named, and how to get it.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mead.mcp.server.tool import ToolFault, to_json
from mead.protocols import StoredSession, TurnReceipt
from mead.turn import Turn, iso_ms

BUDGET_BYTES: Final = 50_000
"""Two bytes a token is the worst that JSON with identifiers comes to; prose has about four."""

COPY_CHARACTERS: Final = 2000
"""What submit_turn repeats of texts that the caller has anyway: its input, and the output."""

_OVERHEAD_BYTES: Final = 2000
"""For everything of a turn or an answer but its texts."""

_HINT: Final = "A text was cut. The operator has all of it: flask mead sessions export ID"


# -- sessions --------------------------------------------------------------------------------------


def session_page(
    sessions: Sequence[StoredSession], limit: int, cursor: str | None
) -> dict[str, Any]:
    """At most `limit` sessions after the place that `cursor` names, newest first.

    Raises ToolFault for a cursor that no earlier page gave.
    """
    ordered = sorted(sessions, key=_place, reverse=True)
    if cursor is not None:
        place = _read_cursor(cursor)
        ordered = [one for one in ordered if _place(one) < place]
    page = ordered[:limit]
    rows = [
        {"session_id": one.session_id, "updated_at": iso_ms(one.updated_at), "running": one.running}
        for one in page
    ]
    more = len(ordered) > len(page)
    return {"sessions": rows, "next_cursor": _cursor(page[-1]) if more and page else None}


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
    room = BUDGET_BYTES
    for turn in reversed(turns[max(0, end - limit) : end]):
        row = _fitted(turn)
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


def _fitted(turn: Turn) -> dict[str, Any]:
    """The turn's fields, its texts cut if it alone would be too large."""
    row = turn.encode()
    most = BUDGET_BYTES - _OVERHEAD_BYTES
    return row if _size(row) <= most else _cut(row, ("output", "input"), most)


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
    return answer if _size(answer) <= BUDGET_BYTES else _cut(answer, ("output",), BUDGET_BYTES)


# -- usage -----------------------------------------------------------------------------------------


def usage_page(usage: Mapping[str, Any], days: int) -> dict[str, Any]:
    """The ledger's answer with the newest `days` days, and no list longer than fits."""
    page = {**usage, "days": list(usage.get("days", ()))[-days:]}
    cut: set[str] = set()
    while _size(page) > BUDGET_BYTES:
        name = max(("routes", "days", "recent"), key=lambda one: len(page.get(one, ())))
        half = len(page[name]) // 2
        page[name] = page[name][-half:] if name == "days" else page[name][:half]
        cut.add(name)
    return {**page, "cut": sorted(cut)} if cut else page


# -- sizes -----------------------------------------------------------------------------------------


def _size(value: object) -> int:
    return len(to_json(value))


def _cut(row: Mapping[str, Any], names: Sequence[str], budget: int) -> dict[str, Any]:
    """`row` with the texts `names` cut until its JSON fits, each to an equal share if need be."""
    shortened = dict(row)
    others = _size({name: value for name, value in row.items() if name not in names})
    share = (budget - others) // len(names)
    long = [name for name in names if row[name] is not None and _size(row[name]) > share]
    if len(long) < len(names):  # what the short ones do not need is the long ones'
        spared = sum(_size(row[name]) for name in names if name not in long)
        share = (budget - others - spared) // max(1, len(long))
    for name in long:
        shortened[name] = _fitting(row[name], share)
    return {**shortened, "cut": long}


def _fitting(text: str, budget: int) -> str:
    """`text`, cut so that its JSON has at most `budget` bytes."""
    kept = len(text)
    while (size := _size(shorter := _shorter(text, kept))) > budget:
        kept = min(kept - 1, int(kept * budget / size))
    return shorter


def _shorter(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    return f"{text[:characters]} … [cut: {len(text)} characters in all]"
