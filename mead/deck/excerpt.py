"""What of a model's words is shown: cut to a bounded size, and always something JSON can hold.

Source: SPEC section 8 ("values cut at 2000 characters, 32 KiB in all").
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

VALUE_CHARACTERS: Final = 2000
NAME_CHARACTERS: Final = 200
TOTAL_BYTES: Final = 32 * 1024

CUT: Final = "…"
"""The last character of what was longer."""
UNREADABLE: Final = "(not shown)"
_MORE: Final = {CUT: "there is more than is shown"}


def arguments_shown(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool call, each value and all together cut.

    A value that is no text and too long is shown as the beginning of its JSON.
    """
    shown: dict[str, Any] = {}
    left = TOTAL_BYTES - len(orjson.dumps(_MORE))
    for name, value in arguments.items():
        key, excerpt = _cut(name, NAME_CHARACTERS), _value(value)
        left -= len(orjson.dumps({key: excerpt}))
        if left < 0:
            shown |= _MORE
            break
        shown[key] = excerpt
    return shown


def text_shown(text: str, maximum: int = VALUE_CHARACTERS) -> str:
    """A text, cut."""
    return _cut(text, maximum)


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, VALUE_CHARACTERS)
    try:
        data = orjson.dumps(value)
    except orjson.JSONEncodeError:  # a number of more than 64 bits, or half of a surrogate pair
        return UNREADABLE
    return value if len(data) <= VALUE_CHARACTERS else _cut(data.decode(), VALUE_CHARACTERS)


def _cut(text: str, maximum: int) -> str:
    if len(text) > maximum:
        text = text[: maximum - 1] + CUT
    return text if text.isascii() else text.encode(errors="replace").decode()
