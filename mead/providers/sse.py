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
"""An event of this size can never reach the limit above, so its lines need no count."""

logging.getLogger(__name__).setLevel(logging.INFO)
"""SSEClient logs under the module of its subclass, and its debug lines quote what was sent."""


def read_events(chunks: Iterable[bytes], limit: int = MAX_EVENT_BYTES) -> Iterator[Event]:
    """The events with data, each as soon as its blank line is here; an unfinished last one is none.

    Raises ProviderFault `bad_response` for an event of more than `limit` bytes, and what `chunks`
    raises.  Blocks on: `chunks`.
    """
    return _WholeEvents(_blocks(chunks, limit)).events()


class _WholeEvents(SSEClient):
    """An SSEClient that does not look for the ends of events in what is one event each time.

    Saves a fifth of its time.  Were `_read` to go from a later version, its own would do as well.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        super().__init__(blocks)
        self._blocks = blocks

    def _read(self) -> Iterator[bytes]:
        return self._blocks


def _blocks(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The byte source of SSEClient: one whole event with its blank line in each piece."""
    mark = codecs.BOM_UTF8
    for blocks in _split(_with_line_feeds(chunks), limit):
        blocks[0] = blocks[0].removeprefix(mark)
        mark = b""
        for block in blocks:
            event = block.lstrip(b"\n")
            if len(event) > _SMALL_BYTES or not event.isascii():
                event = _safe(event)
            if event:
                yield event + b"\n\n"


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
