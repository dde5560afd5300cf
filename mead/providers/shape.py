"""Reading JSON that somebody else wrote: every look-up gives a value of the expected kind.

What is missing or of another kind becomes the empty value of its kind, so that a provider that
leaves fields out, sends null for them or adds new ones is understood all the same.  Written without
`cast` where every event of a stream passes: it is a call.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import orjson

from mead.providers.errors import ProviderFault

MAXIMUM_TOKENS: Final = 1_000_000_000
"""No call of a model reads or writes so many; a larger count is an error of the server's."""
BROKEN_ARGUMENTS: Final = "the arguments of the call are not a JSON object"
"""What a model is told about a call that could not be read."""
_ROOM: Final = 100
"""Levels of the 254 that can be written, for what goes around a call's arguments."""

Json = dict[str, Any]
"""An object of JSON whose fields have not been looked at."""


def read_object(data: bytes | str) -> Json:
    """The object that `data` holds.  Raises ProviderFault `bad_response` for anything else."""
    try:
        value: Json | None = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict):
        return value
    raise ProviderFault("bad_response", "the provider's answer is no JSON object")


def read_json(data: bytes | str) -> object:
    """The value, or None when `data` is no JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def object_in(holder: Mapping[str, Any], key: str) -> Json:
    """The object at `key`, else an empty one."""
    value: Json | None = holder.get(key)
    return value if isinstance(value, dict) else {}


def as_object(value: object) -> Json:
    """The value if it is an object, else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def objects_in(holder: Mapping[str, Any], key: str) -> list[Json]:
    """The objects of the array at `key`; what else the array holds is left out."""
    values: list[Json | None] | None = holder.get(key)
    if not isinstance(values, list):
        return []
    first = values[0] if len(values) == 1 else None
    if isinstance(first, dict):  # the one choice of every event of a stream
        return [first]
    return [one for one in values if isinstance(one, dict)]


def texts_in(holder: Mapping[str, Any], key: str) -> list[str]:
    """The texts of the array at `key`; what else the array holds is left out."""
    values: list[object] | None = holder.get(key)
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def text_in(holder: Mapping[str, Any], key: str) -> str:
    """The text at `key`, else an empty one."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def number_in(holder: Mapping[str, Any], key: str) -> int | None:
    """The whole number at `key`; None for anything else."""
    value = holder.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def tokens_in(holder: Mapping[str, Any], key: str) -> int | None:
    """The number of tokens at `key`; None means unknown, which a number that cannot be is too."""
    count = number_in(holder, key)
    return count if count is not None and 0 <= count <= MAXIMUM_TOKENS else None


def read_arguments(written: str) -> tuple[Json, str | None]:
    """The arguments of a tool call written as JSON, and why they cannot be read if they cannot.

    A call without arguments comes as no text at all or as an empty text in quotes.
    """
    if written.strip() in ("", '""'):
        return {}, None
    return checked_arguments(read_json(written))


def checked_arguments(value: object) -> tuple[Json, str | None]:
    """The arguments of a tool call, and why they cannot be used if they cannot."""
    if isinstance(value, dict) and _is_shallow(cast(Json, value)):
        return cast(Json, value), None
    return {}, BROKEN_ARGUMENTS


def _is_shallow(value: object) -> bool:
    """Whether the value can be written with something around it."""
    for _ in range(_ROOM):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def merged(body: Json, extra: Mapping[str, object]) -> Json:
    """The body with the operator's `extra` over it, objects inside objects merged too."""
    made = dict(body)
    for key, value in extra.items():
        mine = made.get(key)
        if isinstance(mine, dict) and isinstance(value, Mapping):
            made[key] = merged(cast(Json, mine), cast(Mapping[str, object], value))
        else:
            made[key] = value
    return made


def dumped(value: object) -> bytes:
    """The value as bytes; a frozen table of the settings is an object like any other.

    Raises ProviderFault `bad_response` for objects inside objects inside objects without end, which
    only a model's answer has: it can be read deeper than it can be written.
    """
    try:
        return orjson.dumps(value, default=_plain)
    except orjson.JSONEncodeError as error:
        if "Recursion" not in str(error):
            raise
        raise ProviderFault("bad_response", "the answer is nested too deeply") from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, object], value))
    raise TypeError(type(value).__name__)
