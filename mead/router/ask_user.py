"""`ask_user`: the built-in tool with which a model asks the person behind the turn to choose.

The router answers it itself: it is never gated by the policy and never sent to the hub.  Its name
has no `__`, so no tool of a server can take its place.  Source: seed A9, Questions.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final, cast

from mead.protocols import Tool, ToolOutcome, TurnContext

log = logging.getLogger(__name__)

NAME: Final = "ask_user"

MAXIMUM_PROMPT_CHARACTERS: Final = 2000
"""As long as a permission's details may be."""
MAXIMUM_OPTION_CHARACTERS: Final = 200
"""What still fits on a button."""
OPTIONS: Final = range(2, 7)
"""How many options there may be."""

TOOL: Final = Tool(
    name=NAME,
    server="",
    tool=NAME,
    kind="read",
    description=(
        "Ask the person you are talking with to choose one of 2 to 6 options, and wait for the"
        " choice. Use it only when you cannot go on without a decision that is theirs to make."
    ),
    schema={
        "type": "object",
        "properties": {
            "prompt": {"type": "string", "description": "The question, in one or two sentences."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": OPTIONS.start,
                "maxItems": OPTIONS.stop - 1,
                "description": "2 to 6 different short answers to choose from.",
            },
        },
        "required": ["prompt", "options"],
        "additionalProperties": False,
    },
)

NOT_IN_TIME: Final = "The person did not choose in time."
NOT_ASKED: Final = "The person could not be asked"


def answer(arguments: Mapping[str, Any], context: TurnContext) -> ToolOutcome:
    """What the model is told: the option chosen, or why there is none.

    Blocks on: the person, with the turn's clock stopped.
    """
    if context.interaction is None:
        return _not_asked()
    prompt, options = arguments.get("prompt"), _texts(arguments.get("options"))
    fault = _prompt_fault(prompt) or _options_fault(options)
    if fault is not None:
        return _not_asked(fault)
    try:
        with context.clock.paused():
            chosen = context.interaction.choose(cast(str, prompt), tuple(options or ()))
    except Exception as error:  # noqa: BLE001 - whoever shows the question; the turn goes on
        log.warning("a question could not be asked: %s", type(error).__name__)
        return _not_asked()
    return ToolOutcome(text=NOT_IN_TIME if chosen is None else chosen)


def _not_asked(fault: str | None = None) -> ToolOutcome:
    text = f"{NOT_ASKED}." if fault is None else f"{NOT_ASKED}: {fault}."
    return ToolOutcome(text=text, is_error=True)


def _texts(value: object) -> list[str] | None:
    """The list of texts that `value` is, or None."""
    if not isinstance(value, list):
        return None
    items = cast(list[object], value)
    return [item for item in items if isinstance(item, str)] if _all_texts(items) else None


def _all_texts(items: list[object]) -> bool:
    return all(isinstance(item, str) for item in items)


def _prompt_fault(prompt: object) -> str | None:
    if not isinstance(prompt, str) or not prompt.strip():
        return "prompt must be a text that is not empty"
    if len(prompt) > MAXIMUM_PROMPT_CHARACTERS:
        return f"prompt must have at most {MAXIMUM_PROMPT_CHARACTERS} characters"
    return None


def _options_fault(options: list[str] | None) -> str | None:
    if options is None or len(options) not in OPTIONS:
        return "options must be a list of 2 to 6 texts"
    if any(not option.strip() for option in options):
        return "an option must not be empty"
    if any(len(option) > MAXIMUM_OPTION_CHARACTERS for option in options):
        return f"an option must have at most {MAXIMUM_OPTION_CHARACTERS} characters"
    if len(set(options)) < len(options):
        return "the options must differ"
    return None
