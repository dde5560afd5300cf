"""One JSON object a line: bytes in any pieces become lines.  Pure; no I/O.

A line ends with LF, so UTF-8 split between pieces is whole again before anyone decodes it; a CR
before the LF and blank lines mean nothing, a byte order mark before the first line neither.  What
follows the last LF is a line too: an object that came whole without a line end counts.  Whether the
stream was cut is for the reader of the objects to say.
"""

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

from mead.providers.errors import ProviderFault

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""As an event of server-sent events; Ollama's own client stops at 8 MB."""


def read_lines(chunks: Iterable[bytes], limit: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """The lines, each as soon as its end is here, blank ones left out.

    Raises ProviderFault `bad_response` for a line of more than `limit` bytes, and what `chunks`
    raises.  Holds at most one line and one chunk.  Blocks on: `chunks`.
    """
    for number, line in enumerate(_split(chunks, limit)):
        text = (line.removeprefix(codecs.BOM_UTF8) if number == 0 else line).strip(b" \t\r")
        if text:
            yield text


def _split(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    begun: list[bytes] = []  # the pieces of a line that has not ended, joined once
    size = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield _within(limit, size + len(piece), b"".join((*begun, piece)))
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        _within(limit, size, b"")
    yield b"".join(begun)


def _within(limit: int, size: int, line: bytes) -> bytes:
    if size > limit:
        raise ProviderFault("bad_response", f"a line of the answer is larger than {limit} bytes")
    return line
