"""Whether Ollama dropped a part of the prompt.  Pure.

Ollama never says so: it drops the oldest messages until the rest fits into num_ctx, then tokens
from the front of the last one, and answers as if nothing were missing.  `prompt_eval_count` shows
it in two ways: the count fills the whole context, or it is smaller than what the messages must have
at least.  Neither is claimed in doubt:

- A request of fewer bytes than the context has tokens cannot have been cut, whatever the count
  (older versions count only what was not cached: ollama#2068, #3427).
- Without a count only a prompt whose least size lies beyond the context was certainly cut.
- The least size takes a token for every word, or for every 12 bytes where words are long or not
  separated; a run of one character counts as three.  Usual text has two to five bytes a token, so
  a prompt that lost a small part may stay unnoticed; one that lost half does not.
"""

import re
from collections.abc import Sequence
from typing import Final

from mead.providers.ollama_wire import DEFAULT_NUM_CTX
from mead.providers.shape import Json, number_in, object_in, text_in, tokens_in

TRUNCATED: Final = "truncated_prompt"
"""The warning on the turn."""

_BYTES_PER_TOKEN: Final = 12
_RUN: Final = re.compile(r"(.)\1{3,}", re.DOTALL)
"""Spaces, dashes: a tokenizer may take up to a hundred of them for one token."""


def was_cut(body: Json, request: Json, size: int) -> bool:
    """Whether the answer `body` shows it, for a request that was `size` bytes long as JSON."""
    context = number_in(object_in(request, "options"), "num_ctx") or DEFAULT_NUM_CTX
    count = tokens_in(body, "prompt_eval_count")
    if count is not None and count >= context:
        return True
    if size <= context:
        return False
    least = least_tokens(request["messages"])
    return least > context if count is None else count < least


def least_tokens(messages: Sequence[Json]) -> int:
    """A number of tokens that no usual tokenizer stays below for these messages."""
    least = 0
    for message in messages:
        text = _RUN.sub(r"\1\1\1", text_in(message, "content"))
        least += max(len(text.split()), len(text.encode()) // _BYTES_PER_TOKEN)
    return least
