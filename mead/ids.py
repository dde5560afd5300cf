"""Identifiers: lower-case UUID version 4 texts for sessions, turns, calls and requests.

Source: SPEC section 3 ("anything else is `not_found` and never touches a path").
"""

import os
import re
from typing import Final, NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)

_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def new_uuid() -> str:
    """A fresh random UUID version 4 in lower case.

    Written out by hand because `uuid.uuid4` builds an object that nobody here wants (three times
    the time of a turn's other bookkeeping).
    """
    raw = bytearray(os.urandom(16))
    raw[6] = (raw[6] & 0x0F) | 0x40
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_session_id() -> SessionId:
    """A fresh session id."""
    return SessionId(new_uuid())


def new_turn_id() -> TurnId:
    """A fresh turn id."""
    return TurnId(new_uuid())


def is_uuid4(value: object) -> bool:
    """Whether `value` is exactly what `new_uuid` makes: the only texts that may become a path."""
    return isinstance(value, str) and _UUID4.fullmatch(value) is not None
