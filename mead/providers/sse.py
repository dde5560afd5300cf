r"""Server-sent events from bytes that may be cut anywhere.

sseclient-py reads the fields of an event; this module finds where an event ends.  It hands over one
complete event at a time, because sseclient-py on its own delivers an event whose end never came,
takes `\n\r\n` for no blank line, loses the first event's name to a byte order mark, ends at
invalid UTF-8, needs quadratic time for long lines and keeps any amount of them.

Every byte is looked at a fixed number of times, however it arrives.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import codecs
import logging
from collections.abc import Iterable, Iterator
from typing import Final

from sseclient import Event, SSEClient

from mead.providers.errors import ProviderFault

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""The longest event, and so the longest line; Ollama's own client stops at half of it."""
_MAX_COPIED_BYTES: Final = 512 * 1024 * 1024
"""sseclient-py copies an event for each of its lines; this much takes hundredths of a second."""
_SMALL_BYTES: Final = 4096
"""An event of this size can never reach the limit above, so its lines are not counted."""

logging.getLogger("sseclient").setLevel(logging.INFO)  # its debug lines quote what was sent


def read_events(chunks: Iterable[bytes], limit: int = MAX_EVENT_BYTES) -> Iterator[Event]:
    """The events that say something, each as soon as its blank line is here.

    One without data, or with blank data, is left out, and so is an unfinished last one.

    Raises ProviderFault `bad_response` for an event of more than `limit` bytes, and what `chunks`
    raises.  Blocks on: `chunks`.
    """
    events = SSEClient(_blocks(chunks, limit)).events()
    return (event for event in events if event.data and not event.data.isspace())


def _blocks(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The byte source of SSEClient: one whole event with its blank line in each piece."""
    for number, block in enumerate(_split(_with_line_feeds(chunks), limit)):
        whole = block.removeprefix(codecs.BOM_UTF8) if number == 0 else block
        whole = whole.lstrip(b"\n")
        if whole:
            yield _safe(whole) + b"\n\n"


def _with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes with every line end as one LF, without waiting to see whether a CR has its LF."""
    after_return = False
    for arrived in chunks:
        chunk = arrived[1:] if after_return and arrived.startswith(b"\n") else arrived
        after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield chunk


def _split(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """What stands between blank lines; the rest after the last one is dropped."""
    held = bytearray()
    for arrived in chunks:
        chunk = arrived
        if chunk.startswith(b"\n") and held.endswith(b"\n"):
            yield bytes(held)
            held.clear()
            chunk = chunk[1:]
        *whole, rest = chunk.split(b"\n\n")
        for block in whole:
            yield bytes(held) + block if held else block
            held.clear()
        held += rest
        if len(held) > limit:
            raise _too_large(limit)


def _safe(block: bytes) -> bytes:
    """The event as UTF-8 that sseclient-py can decode, in time that it can be given."""
    if len(block) > _SMALL_BYTES and block.count(b"\n") * len(block) > _MAX_COPIED_BYTES:
        raise ProviderFault("bad_response", "an event of the answer has too many lines")
    if block.isascii():
        return block
    return block.decode("utf-8", errors="replace").encode()


def _too_large(limit: int) -> ProviderFault:
    return ProviderFault("bad_response", f"an event of the answer is larger than {limit} bytes")
