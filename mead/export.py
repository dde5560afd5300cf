"""A conversation as a file for people (Markdown) or programs (JSON Lines).  Pure."""

from collections.abc import Sequence
from typing import Final, Literal, get_args

import orjson

from mead.errors import InvalidInput
from mead.turn import Turn, iso_ms

ExportFormat = Literal["jsonl", "markdown"]

_BLANK_LINE: Final = "\n\n"


def exported(session_id: str, turns: Sequence[Turn], format_: ExportFormat) -> str:
    """The turns as text: one JSON object a line, or Markdown.  Raises InvalidInput."""
    if format_ == "jsonl":
        return "".join(orjson.dumps(turn.encode()).decode() + "\n" for turn in turns)
    if format_ == "markdown":
        head = f"# Conversation {session_id}{_BLANK_LINE}"
        return head + "".join(_markdown(turn) for turn in turns)
    raise InvalidInput(f"the format must be one of {', '.join(get_args(ExportFormat))}")


def _markdown(turn: Turn) -> str:
    """Prompt and answer stay as they were written: they are Markdown more often than not."""
    facts = turn.facts
    where = ", ".join(part for part in (facts.route, facts.provider, facts.model) if part)
    answer = turn.output
    if answer is None:
        answer = f"_No answer: {turn.error.message if turn.error else turn.status.value}._"
    return (
        f"## You, {iso_ms(turn.started_at)}{_BLANK_LINE}{turn.input}{_BLANK_LINE}"
        f"## Mead{f' ({where})' if where else ''}{_BLANK_LINE}{answer}{_BLANK_LINE}"
    )
