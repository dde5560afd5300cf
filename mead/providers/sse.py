r"""Server-sent events from bytes that may be cut anywhere.

This module finds where an event ends, and reads the plainest events, which make up nearly all of a
stream; sseclient-py reads the fields of the others.  It is handed one complete event at a time, as
on its own it delivers an event whose end never came, takes `\n\r\n` for no blank line, loses the
first event's name to a byte order mark, ends at invalid UTF-8, needs quadratic time for long lines
and keeps any amount of them.

Every byte is looked at a fixed number of times, however it arrives.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sseclient import SSEClient

from mead.providers.errors import ProviderFault

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""The longest event, and so the longest line; Ollama's own client stops at half of it."""
_MAX_COPIED_BYTES: Final = 512 * 1024 * 1024
"""sseclient-py copies an event for each of its lines; this much takes hundredths of a second."""
_PLAIN: Final = re.compile(rb"(?:event: ([^\n]+)\n)?data: ([^\n]*)")
"""Nearly every event of a model: it needs no library to be read, and half of the time."""
_SMALL_BYTES: Final = 4096
"""An event of this size can never reach the limit above, so its lines need no count."""


class Event(NamedTuple):
    """One event."""

    event: str
    """Its name; `message` if it has none."""
    data: str


def read_events(chunks: Iterable[bytes], limit: int = MAX_EVENT_BYTES) -> Iterator[Event]:
    """The events with data, each as soon as its blank line is here; an unfinished last one is none.

    Raises ProviderFault `bad_response` for an event of more than `limit` bytes, and what `chunks`
    raises.  Blocks on: `chunks`.
    """
    reader = _OneEvent()
    for block in _blocks(chunks, limit):
        plain = _PLAIN.fullmatch(block)
        if plain is None:
            yield from reader.read(block)
        else:
            name, data = plain.groups()
            yield Event("message" if name is None else name.decode(), data.decode())


class _OneEvent(SSEClient):
    """An SSEClient that is handed whole events, one at a time."""

    def __init__(self) -> None:
        super().__init__(iter(()))
        self._logger = _Mute()

    def read(self, block: bytes) -> Iterator[Event]:
        """The event in `block`, if it has data."""
        self._event_source = iter((block,))
        return (Event(one.event, one.data) for one in self.events())


class _Mute:
    """SSEClient's log: it would be told what was sent, every event of it."""

    def debug(self, *_: object) -> None:
        """Nothing."""


def _blocks(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """One whole event in each piece, without its blank line."""
    mark = codecs.BOM_UTF8
    for blocks in _split(_with_line_feeds(chunks), limit):
        blocks[0] = blocks[0].removeprefix(mark)
        mark = b""
        for block in blocks:
            event = block.lstrip(b"\n")
            if len(event) > _SMALL_BYTES or not event.isascii():
                event = _safe(event)
            if event:
                yield event


def _with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes with every line end as one LF, without waiting to see whether a CR has its LF."""
    after_return = False
    for arrived in chunks:
        chunk = arrived[1:] if after_return and arrived.startswith(b"\n") else arrived
        after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield chunk


def _split(chunks: Iterable[bytes], limit: int) -> Iterator[list[bytes]]:
    """What stands between blank lines, as much as each chunk ends; the last rest is dropped."""
    held = bytearray()
    for arrived in chunks:
        chunk = arrived
        if chunk.startswith(b"\n") and held.endswith(b"\n"):
            yield [bytes(held)]
            held.clear()
            chunk = chunk[1:]
        *blocks, rest = chunk.split(b"\n\n")
        if blocks:
            blocks[0] = bytes(held) + blocks[0]
            held.clear()
            yield blocks
        held += rest
        if len(held) > limit:
            raise ProviderFault(
                "bad_response", f"an event of the answer is larger than {limit} bytes"
            )


def _safe(block: bytes) -> bytes:
    """The event as UTF-8 that sseclient-py can decode, in time that it can be given."""
    if block.count(b"\n") * len(block) > _MAX_COPIED_BYTES:
        raise ProviderFault("bad_response", "an event of the answer has too many lines")
    return block.decode("utf-8", errors="replace").encode()
