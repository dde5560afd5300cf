"""What a command says of an answer that is not whole."""

from collections.abc import Mapping
from typing import Final

_WHOLE: Final = frozenset({None, "end_turn", "stop_sequence", "stop", "tool_use"})
_CUT: Final[Mapping[str, str]] = {
    "max_tokens": "it reached the slot's max_tokens; ask the model to go on, or raise it",
    "model_context_window_exceeded": "the model can take in no more; begin a new conversation",
    "refusal": "the model declined to go on; ask in another way",
    "content_filter": "the provider's filter stopped it; ask in another way",
}


def cut_words(stop_reason: str | None) -> str | None:
    """One line on why the answer ends there and what one can do; None if it ended by itself."""
    if stop_reason in _WHOLE:
        return None
    return f"[cut: {_CUT.get(str(stop_reason), f'the model stopped with {stop_reason}')}]"
