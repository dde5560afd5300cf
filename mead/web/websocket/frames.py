"""Frames as a server sends them: not masked, so that one serves every socket.  Pure."""

from collections.abc import Iterable
from typing import Final

from websockets.frames import Close, Frame, Opcode

from mead.protocols.sockets import Closed
from mead.web.websocket.incoming import NO_CODE

REASON_BYTES: Final = 123
"""A control frame holds 125 bytes, two of them the code."""

PING: Final = Frame(Opcode.PING, b"").serialize(mask=False)


def encode_text(text: bytes) -> bytes:
    """A text frame of UTF-8 bytes."""
    return Frame(Opcode.TEXT, text).serialize(mask=False)


def encode_pongs(payloads: Iterable[bytes]) -> bytes:
    """The answers to pings, in their order."""
    return b"".join(Frame(Opcode.PONG, payload).serialize(mask=False) for payload in payloads)


def encode_close(closed: Closed) -> bytes:
    """A Close frame; empty for a code that only says that there was none."""
    if closed.code == NO_CODE:
        return Frame(Opcode.CLOSE, b"").serialize(mask=False)
    reason = closed.reason.encode()[:REASON_BYTES].decode(errors="ignore")
    return Frame(Opcode.CLOSE, Close(closed.code, reason).serialize()).serialize(mask=False)
