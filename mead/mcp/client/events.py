"""Server-sent events out of bytes, bounded.  Pure.

Events are cut apart here and each is decoded by sseclient, which alone has no bound, stumbles over
some line ends, and copies an event once for each of its lines.  A last event without its blank line
counts: MCP servers close the stream right after an answer, and a message that was cut is no JSON.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sseclient import SSEClient

from mead.mcp.client.faults import ServerFault

MAXIMUM_EVENT_BYTES: Final = 4 * 1024 * 1024
MAXIMUM_EVENT_LINES: Final = 10_000
_MAXIMUM_COPIED_BYTES: Final = 512 * 1024 * 1024
"""Lines times bytes; so much is decoded in hundredths of a second."""
_RETRY_DIGITS: Final = 9
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; what the server did not say is None."""

    data: str
    id: str | None = None
    retry_ms: int | None = None
    kind: str = "message"


class EventBuffer:
    """Feed it what was read; it gives the events that are complete."""

    def __init__(self, limit: int = MAXIMUM_EVENT_BYTES) -> None:
        self._limit = limit
        self._begun = False
        self._mark = b""
        """What may be the beginning of a byte order mark."""
        self._half_break = False
        """The last byte was a CR: an LF that follows belongs to it."""
        self._line: list[bytes] = []
        self._event: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that end in `data`.  Raises ServerFault."""
        if not self._begun:
            data = self._mark + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._mark = data
                return []
            self._begun = True
            data = data.removeprefix(_BOM)
        if self._half_break:
            data = data.removeprefix(b"\n")
        self._half_break = data.endswith(b"\r")
        *whole, open_ = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        found: list[Event] = []
        for piece in whole:
            found += self._end_line(piece)
        self._grow(open_)
        return found

    def flush(self) -> list[Event]:
        """What was not closed by a blank line when the stream ended.  Raises ServerFault."""
        return self._end_line(b"") + self._end_line(b"")

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            raise ServerFault("response_too_large", f"an event has more than {self._limit} bytes")
        if piece:
            self._line.append(piece)

    def _end_line(self, piece: bytes) -> list[Event]:
        self._grow(piece)
        if self._line:
            self._event.append(b"".join(self._line))
            self._line.clear()
            lines = len(self._event)
            if lines > MAXIMUM_EVENT_LINES or lines * self._size > _MAXIMUM_COPIED_BYTES:
                raise ServerFault("bad_response", "an event has too many lines")
            return []
        event, self._event, self._size = self._event, [], 0
        return _decoded(event) if event else []


class _OneEvent(SSEClient):
    """An SSEClient that does not look for the end of what is one event."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        super().__init__(iter((block,)))

    def _read(self) -> Iterator[bytes]:
        return iter((self._block,))


def _decoded(lines: list[bytes]) -> list[Event]:
    block = b"\n".join(lines) + b"\n\n"
    try:
        return [
            Event(event.data, event.id, _milliseconds(event.retry), event.event)
            for event in _OneEvent(block).events()
        ]
    except UnicodeDecodeError:
        raise ServerFault("bad_response", "an event is not UTF-8") from None


def _milliseconds(text: str | None) -> int | None:
    """None for what is no number, or for a longer wait than anyone means."""
    if text is None or len(text) > _RETRY_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text)
