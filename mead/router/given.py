"""Where text that was given behind a colon ends and the person speaks again.

Given text is data and may say anything, so its end is looked for and not its meaning.  It ends

- behind a quotation: who quotes has marked where the text ends;
- at a blank line, unless it begins with one;
- where a sentence begins with `also`, `then`, `now`, `please` and their like;
- where it turns into an order to reason: a sentence that begins with one (`Explain the grammar`),
  one behind `and` and its like (`and compare it`), and one behind any other sign that says what it
  is done to (`, analyse them`).

The last may be a part of the text all the same; but it is a doubt.  Source: SPEC section 4.
"""

from typing import Final

from mead.router.doubt_words import ORDERS
from mead.router.request import BREAKS, QUOTED, SENTENCE_ENDS
from mead.router.words import ADDITIVE, AGAIN, ASKING, OBJECTS, OPENERS, POLITE

_CONNECTIVES: Final = OPENERS | ADDITIVE | AGAIN
_SIGNS: Final = BREAKS | _CONNECTIVES
"""All other tokens of given text are passed over."""


def end_of_given(tokens: list[str], start: int) -> int:
    """Where the request goes on behind the text that begins at `start`; the end if it does not."""
    at = start
    while at < len(tokens) and (tokens[at] == "\n" or tokens[at] in POLITE):
        at += 1
    for index in range(at, len(tokens)):
        token = tokens[index]
        if token in _SIGNS and _ends_at(tokens, index, token):
            return index if token in _CONNECTIVES else index + 1
    return len(tokens)


def _ends_at(tokens: list[str], index: int, token: str) -> bool:
    behind = index + 1
    if token == QUOTED:
        return True
    if token in _CONNECTIVES:
        return _order_at(tokens, behind) is not None
    if token not in SENTENCE_ENDS:
        return _is_done_to_something(tokens, behind)
    if token == "\n":  # noqa: S105 - a sign
        return (
            tokens[behind : behind + 1] == ["\n"]
            or _speaks_again(tokens, behind)
            or _is_done_to_something(tokens, behind)
        )
    return _speaks_again(tokens, behind) or _order_at(tokens, behind) is not None


def _speaks_again(tokens: list[str], at: int) -> bool:
    """Whether a sentence begins there as people go on with a request."""
    ahead = tokens[at : at + 2]
    return bool(ahead) and (
        ahead[0] in AGAIN
        or ahead[0] in ADDITIVE
        or (ahead[0] in OPENERS and (ahead[-1] in ADDITIVE or ahead[-1] in AGAIN))
    )


def _order_at(tokens: list[str], at: int) -> int | None:
    """Where the order to reason is that begins there, as in `could you please explain`."""
    for index in range(at, min(at + 5, len(tokens))):
        if tokens[index] in ORDERS:
            return index
        if tokens[index] not in ASKING:
            return None
    return None


def _is_done_to_something(tokens: list[str], at: int) -> bool:
    """Whether an order to reason begins there and names its object next."""
    order = _order_at(tokens, at)
    return order is not None and order + 1 < len(tokens) and tokens[order + 1] in OBJECTS
