"""The body of a request as it comes off the connection, within bounds that gunicorn lacks.

gunicorn bounds one line of a chunked body, not how many there are, and never lets others run while
it parses: a body of tiny chunks with long extensions held the hub for seconds.  How many bytes of
content are too many is the application's to say (`blueprints.bodies`).  Source: SPEC section 6.
"""

import errno
import time
from typing import Any, Final

from gunicorn.http.body import Body, ChunkedReader
from gunicorn.http.errors import InvalidChunkSize

from mead.actors.green import pause

FRAMING_BYTES: Final = 131_072
"""Of a whole body, for everything but its content: a mebibyte in chunks of 64 bytes has less."""

CHUNK_LINE_BYTES: Final = 256
"""A chunk's size and its extensions, which nobody uses."""

TRAILER_BYTES: Final = 8190
"""As one header."""

TURN_S: Final = 0.002
"""How long a body may be parsed before others run."""

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class FramingTooLong(OSError):
    """A body with more framing than content can need; `errno` is EMSGSIZE."""

    def __init__(self) -> None:
        super().__init__(errno.EMSGSIZE, "too much framing around the body")


class CountingUnreader:
    """An unreader that knows how many bytes were taken from it."""

    def __init__(self, unreader: Any) -> None:
        self._unreader = unreader
        self.taken = 0

    def read(self, size: int | None = None, read_ahead: int | None = None) -> bytes:
        """As gunicorn's."""
        data: bytes = self._unreader.read(size, read_ahead)
        self.taken += len(data)
        return data

    def unread(self, data: bytes) -> None:
        """As gunicorn's."""
        self.taken -= len(data)
        self._unreader.unread(data)


class BoundedChunks(ChunkedReader):
    """A chunked body whose framing is bounded, parsed a little at a time."""

    def __init__(self, request: Any, unreader: Any) -> None:
        self._wire = CountingUnreader(unreader)
        wire: Any = self._wire
        super().__init__(request, wire)
        self.limit_chunk_size_line = CHUNK_LINE_BYTES
        self.limit_trailer_section = TRAILER_BYTES
        self.parser = self._paced(self.parser)

    def _paced(self, pieces: Any) -> Any:
        """The pieces of content.  Raises FramingTooLong and gunicorn's errors."""
        content, started = 0, time.monotonic()
        for piece in pieces:
            content += len(piece)
            if self._wire.taken - content > FRAMING_BYTES:
                raise FramingTooLong
            yield piece
            if time.monotonic() - started > TURN_S:
                pause()
                started = time.monotonic()

    def parse_chunk_size(self, unreader: Any, data: bytes | None = None) -> Any:
        """gunicorn's, which bounds a line only while its end has not come."""
        before = self._wire.taken - len(data or b"")
        size, rest = super().parse_chunk_size(unreader, data)
        if rest is not None and self._wire.taken - len(rest) - before > CHUNK_LINE_BYTES:
            raise InvalidChunkSize(b"a line of more than %d bytes" % CHUNK_LINE_BYTES)
        return size, rest


class AwaitedBody(Body):
    """The body of a client that waits for `100 Continue`: told when the body is first wanted.

    So Host, Origin and token are checked before, and a refused client sends nothing.
    """

    def __init__(self, reader: Any, connection: Any) -> None:
        super().__init__(reader)
        self._waiting: Any = connection

    def _read_reader(self, size: int) -> bytes:
        if self._waiting is not None:
            connection, self._waiting = self._waiting, None
            connection.sendall(CONTINUE)
        body: Any = super()
        return body._read_reader(size)
