"""HTTP requests as gunicorn parses them, which also know whether their body has been read.

gunicorn reads what is left of a body before the next request, without a bound.  Here an answer that
is sent before its request was read ends the connection instead.  Source: SPEC section 6.

It also looks through all of a head again with every packet, and takes 800 KiB of one: four clients
that sent such a head in small packets held the hub for ten seconds.  Here a head is short.
"""

from typing import Any, Final

from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import (
    ExpectationFailed,
    ForbiddenProxyRequest,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser

from mead.web.request_body import AwaitedBody, BoundedChunks

HEAD_BYTES: Final = 32_768
"""Request line and headers together; nginx takes as much."""


class TrackedRequest(Request):
    """A request that wants its connection closed unless its body was read to the end."""

    def read_into(self, unreader: Any, buf: bytearray, stop: bool | None = False) -> None:
        """Asked by gunicorn for more of the head.  Raises LimitRequestHeaders."""
        super().read_into(unreader, buf, stop)
        if len(buf) > HEAD_BYTES:
            raise LimitRequestHeaders("the whole head")

    def set_body_reader(self) -> None:
        """Asked by gunicorn when the head has been parsed."""
        super().set_body_reader()
        unreader: Any = self.unreader
        reader: Any = None if self.body is None else self.body.reader
        if isinstance(reader, ChunkedReader):
            reader = BoundedChunks(self, unreader)
            self.body = Body(reader)
        if self._expected_100_continue:
            self._expected_100_continue = False  # gunicorn would answer before any check
            self.body = AwaitedBody(reader, unreader.sock)

    def should_close(self) -> bool:
        """Asked by gunicorn when the head of the answer is written, and again afterwards."""
        if not self.is_read():
            self.force_close()  # the client was told; it stays so, whatever is read later
        return super().should_close()

    def is_read(self) -> bool:
        """Whether nothing of the body is left on the connection."""
        body: Any = self.body
        if body is None:
            return True
        if body.failed:
            return False
        reader = body.reader
        if isinstance(reader, LengthReader):
            return reader.length <= 0
        return isinstance(reader, ChunkedReader) and reader.parser is None


class TrackedParser(RequestParser):
    """gunicorn's parser, making such requests."""

    mesg_class = TrackedRequest

    def is_read(self) -> bool:
        """Whether nothing of the latest request is left on the connection."""
        return not isinstance(self.mesg, TrackedRequest) or self.mesg.is_read()

    def has_bytes(self) -> bool:
        """Whether bytes of the next request have come with the latest one."""
        return self.unreader.buf.getbuffer().nbytes > 0


_STATUS: Final[dict[type[Exception], str]] = {
    LimitRequestLine: "414 URI Too Long",
    LimitRequestHeaders: "431 Request Header Fields Too Large",
    ExpectationFailed: "417 Expectation Failed",
    ForbiddenProxyRequest: "403 Forbidden",
}


_OURS: Final = ("InvalidResponseHeader", "InvalidResponseHeaderName")
"""Faults of the application, though gunicorn derives them from those of a client."""


def refusal(error: BaseException) -> str | None:
    """The status line for bytes that are no request; None when the fault is not the client's."""
    if type(error).__name__ in _OURS:
        return None
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return status
    return "400 Bad Request" if isinstance(error, ParseException) else None
