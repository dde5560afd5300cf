"""What one client sends: bytes in, whole messages out.  Pure; no socket here.

Theory of operation.  The Sans-I/O protocol of `websockets` parses and judges the frames.  What it
would send is not used: it answers a Close at once, ahead of the replies to messages that came
before it in the same packet.  Here the end is kept back until every message before it was taken,
and the caller sends the Close.  It also takes a Close between two fragments for an error, which
RFC 6455 section 5.4 allows.
"""

import codecs
import logging
from typing import Final, NamedTuple

from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

SILENT: Final = logging.Logger("websockets", logging.CRITICAL + 1)
"""`websockets` would log frames, which hold prompts, and tracebacks."""

LOST: Final = 1006
NO_CODE: Final = 1005

BYTES_A_FRAGMENT: Final = 64
"""A message may have one fragment for so many of the bytes that it may have: else one of empty
fragments would have no end.  The Autobahn suite sends no shorter ones."""

_Utf8 = codecs.getincrementaldecoder("utf-8")


class Ending(NamedTuple):
    """How the client's stream ended, and whether a Close frame answers that."""

    code: int
    reason: str
    answered: bool


class _TooMany(Exception):
    """A message has more fragments than it may."""


class Incoming:
    """The stream of one client."""

    __slots__ = (
        "_ahead",
        "_checker",
        "_fragments",
        "_fragments_left",
        "_frames",
        "_parts",
        "_protocol",
        "ending",
        "pings",
    )

    def __init__(self, maximum_bytes: int) -> None:
        """`maximum_bytes` bounds a message; a header that announces more ends the stream (1009).

        So does a message of more fragments than one for each BYTES_A_FRAGMENT of them.
        """
        self.ending: Ending | None = None
        """Set when the stream has ended and every message before that was taken."""
        self.pings: list[bytes] = []
        """Payloads of pings that nobody has answered yet; the caller empties it."""
        self._protocol = Protocol(Side.SERVER, max_size=maximum_bytes, logger=SILENT)
        self._frames: list[Frame] = []
        """Data frames that were not taken yet, the next one last."""
        self._ahead: Ending | None = None
        self._parts: bytearray | None = None
        self._fragments = maximum_bytes // BYTES_A_FRAGMENT
        self._fragments_left = 0
        """Of the message that is being joined."""
        self._checker: codecs.IncrementalDecoder | None = None

    @property
    def over(self) -> bool:
        """Whether the client will send nothing that counts, though messages may still wait."""
        return self._ahead is not None

    def feed(self, data: bytes) -> int:
        """Take bytes, b"" for the end of the stream; how many frames they completed."""
        if self._ahead is not None:
            return 0
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        self._protocol.data_to_send()
        frames = [frame for frame in self._protocol.events_received() if isinstance(frame, Frame)]
        self.pings += [bytes(frame.data) for frame in frames if frame.opcode is Opcode.PING]
        self._frames[:0] = [frame for frame in reversed(frames) if frame.opcode < Opcode.CLOSE]
        self._ahead = self._ending()
        return len(frames)

    def take(self) -> str | bytes | None:
        """The next message; None when there is none, for now or (`ending`) for good."""
        try:
            while self._frames:
                message = self._join(self._frames.pop())
                if message is not None:
                    return message
        except UnicodeDecodeError:
            self._fail(1007, "invalid UTF-8")
        except _TooMany:
            self._fail(1009, "too many fragments")
        self.ending = self._ahead
        return None

    def _fail(self, code: int, reason: str) -> None:
        self.discard()
        self._ahead = Ending(code, reason, answered=True)

    def discard(self) -> None:
        """Forget what was not taken."""
        self._frames.clear()
        self._parts = self._checker = None

    def _join(self, frame: Frame) -> str | bytes | None:
        """The message that this frame completes."""
        if self._parts is None and frame.fin:
            data = bytes(frame.data)
            return data.decode() if frame.opcode is Opcode.TEXT else data
        if self._parts is None:
            self._parts, self._fragments_left = bytearray(), self._fragments
            self._checker = _Utf8() if frame.opcode is Opcode.TEXT else None
        self._fragments_left -= 1
        if self._fragments_left < 0:
            raise _TooMany
        self._parts += frame.data  # not a list: a fragment may be as short as one byte
        if self._checker is not None:
            self._checker.decode(frame.data, frame.fin)
        if not frame.fin:
            return None
        message = self._parts.decode() if self._checker else bytes(self._parts)
        self._parts = self._checker = None
        return message

    def _ending(self) -> Ending | None:
        received, sent = self._protocol.close_rcvd, self._protocol.close_sent
        if received is not None:
            return Ending(int(received.code), received.reason, answered=True)
        if sent is not None:  # the protocol's own verdict: 1002, 1007 or 1009
            return Ending(int(sent.code), sent.reason, answered=True)
        if self._protocol.state is State.CLOSED or self._protocol.parser_exc is not None:
            return Ending(LOST, "", answered=False)
        return None
