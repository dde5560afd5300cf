"""An HTTP answer that holds nobody up and whose frame is bounded, whatever the server sends.

gevent lets others run where a read has to wait.  A server that always has bytes ready never makes a
read wait, and http.client reads on within itself: interim answers, a proxy's headers, the lines
behind the last chunk.  No deadline would fire meanwhile.  So the bytes come from a source that lets
others run every few milliseconds, and what is not the body is read up to a limit.
"""

import http.client
import io
import time
from typing import TYPE_CHECKING, Any, Final, cast

from mead.actors.green import loop_rounds, pause

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAXIMUM_HEAD_BYTES: Final = 300 * 1024
"""Of all that comes before the body, and again of what comes behind it; curl has the same limit."""
_TURN_MS: Final = 5
"""A reader whose socket always has data lets others run this often."""
_SWITCHING: Final = 101
"""The one interim status that is final: what follows is no HTTP."""


class HeadTooLong(http.client.HTTPException):
    """The server sends more headers, interim answers or trailers than anyone needs."""


class Spell:
    """How long a greenlet has read without a wait; it gives way only where that was long.

    A model's words come some milliseconds apart: to give way at each, after a wait for it, would
    cost more than to read it.
    """

    __slots__ = ("_ends", "_rounds")

    def __init__(self) -> None:
        self._begin(loop_rounds())

    def give_way(self) -> None:
        """Let others run if they have not for long.  Blocks on: other greenlets."""
        rounds = loop_rounds()
        if rounds != self._rounds:
            self._begin(rounds)
        elif time.monotonic() > self._ends:
            pause()
            self._begin(loop_rounds())

    def _begin(self, rounds: int) -> None:
        self._rounds = rounds
        self._ends = time.monotonic() + _TURN_MS / 1000


class FairSource(io.RawIOBase):
    """The bytes of a socket, for a BufferedReader."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._left: int | None = None
        self._spell = Spell()

    def limit(self, size: int | None) -> None:
        """From now on no more than `size` bytes can be read; None lifts the limit."""
        self._left = size

    def readable(self) -> bool:
        """See RawIOBase."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        """See RawIOBase.  Raises HeadTooLong.  Blocks on: network, other greenlets."""
        self._spell.give_way()
        count = self._raw.readinto(buffer)
        if self._left is not None:
            left = self._left = self._left - (count or 0)
            if left < 0:
                raise HeadTooLong
        return count

    def close(self) -> None:
        """See RawIOBase."""
        self._raw.close()
        super().close()


class FairResponse(http.client.HTTPResponse):
    """See the module.  Every interim answer is passed over, not only `100 Continue`."""

    def __init__(self, sock: Any, *given: Any, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        self._source = FairSource(self.fp.detach())
        self._source.limit(MAXIMUM_HEAD_BYTES)
        self.fp = io.BufferedReader(self._source)

    def begin(self) -> None:
        """Read the head.  Raises HTTPException.  Blocks on: network."""
        super().begin()
        while 100 <= self.status < 200 and self.status != _SWITCHING:
            # Taken for the answer it would leave the real one to the connection's next request.
            cast(Any, self).headers = None  # so that http.client begins again
            super().begin()
        self._source.limit(None)

    def _read_and_discard_trailer(self) -> None:
        """http.client asks this after the last chunk, and would read lines without end."""
        self._source.limit(MAXIMUM_HEAD_BYTES)
        try:
            http.client.parse_headers(self.fp)
        except http.client.HTTPException:
            raise HeadTooLong from None
