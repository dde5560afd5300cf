"""The conversations as the deck's page lists, names, reads and removes them.  Source: SPEC 8."""

from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from flask import Blueprint, Response, request

from blueprints.bodies import read_object
from blueprints.errors import empty_response
from blueprints.guards import Access, access
from blueprints.query import json_response, whole_number
from mead.deck.deck import Deck
from mead.errors import InvalidInput
from mead.export import ExportFormat
from mead.protocols import SessionAPI
from mead.turn import Turn

BODY_BYTES: Final = 65_536
"""Of every body that the deck's routes read: far above a title, a code or an id."""
TURNS: Final = 50
MOST_TURNS: Final = 100

_EXPORTS: Final = {
    "jsonl": ("jsonl", "application/x-ndjson"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
}
"""Format -> ending of the file, content type."""


class DeckRuntime(SessionAPI, Protocol):
    """What the deck's routes need of `mead.api.Mead`."""

    def deck(self) -> Deck: ...

    def export_session(self, session_id: str, format_: ExportFormat = "jsonl") -> str: ...


def add_session_routes(blueprint: Blueprint, runtime: DeckRuntime) -> None:
    """`/deck/sessions` and below."""
    _add_list(blueprint, runtime)
    _add_reading(blueprint, runtime)


def _add_list(blueprint: Blueprint, runtime: DeckRuntime) -> None:
    @blueprint.get("/deck/sessions")
    @access(Access.DECK)
    def sessions() -> Response:
        """All of them, newest first."""
        return json_response({"sessions": runtime.deck().sessions()})

    @blueprint.patch("/deck/sessions/<session_id>")
    @access(Access.DECK)
    def rename(session_id: str) -> Response:
        """Name it; every device is told."""
        title = runtime.deck().set_title(session_id, read_object(BODY_BYTES).get("title"))
        return json_response({"session_id": session_id, "title": title})

    @blueprint.delete("/deck/sessions/<session_id>")
    @access(Access.DECK)
    def delete(session_id: str) -> Response:
        """Remove it for good; its devices are closed with 4404."""
        runtime.delete_session(session_id)
        return empty_response(204, {})

    @blueprint.post("/deck/sessions/<session_id>/stop")
    @access(Access.DECK)
    def stop(session_id: str) -> Response:
        """Stop it; its devices are closed with 4409, and a ticket resumes it."""
        runtime.stop_session(session_id)
        return empty_response(204, {})


def _add_reading(blueprint: Blueprint, runtime: DeckRuntime) -> None:
    @blueprint.get("/deck/sessions/<session_id>/history")
    @access(Access.DECK)
    def history(session_id: str) -> Response:
        """The newest turns, or the newest before the turn `before`; oldest first."""
        limit = whole_number("limit", TURNS, 1, MOST_TURNS)
        return json_response(_page(runtime.history(session_id), limit, request.args.get("before")))

    @blueprint.get("/deck/sessions/<session_id>/export")
    @access(Access.DECK)
    def export(session_id: str) -> Response:
        """The conversation as a file."""
        format_ = request.args.get("format", "jsonl")
        if format_ not in _EXPORTS:
            raise InvalidInput(f"format must be one of {', '.join(_EXPORTS)}")
        ending, content_type = _EXPORTS[format_]
        text = runtime.export_session(session_id, cast(ExportFormat, format_))
        response = Response(text, content_type=content_type)
        response.headers["Content-Disposition"] = f'attachment; filename="{session_id}.{ending}"'
        return response


def _page(turns: Sequence[Turn], limit: int, before: str | None) -> dict[str, Any]:
    """At most `limit` turns; `next_before` asks for those before them, None when there are none."""
    ids = [turn.id for turn in turns]
    if before is not None and before not in ids:
        raise InvalidInput("before must be the id of a turn of this conversation")
    end = len(turns) if before is None else ids.index(before)
    start = max(0, end - limit)
    return {
        "turns": [turn.encode() for turn in turns[start:end]],
        "total": len(turns),
        "next_before": ids[start] if start > 0 else None,
    }
