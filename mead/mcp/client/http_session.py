"""HTTP to a tool server: what goes out, what comes back, and faults in our own words.

Nothing is taken from the environment (no proxy, key, certificate or netrc), no redirect is
followed and no cookie kept.  Killing the greenlet that reads an answer closes its connection.
"""

import http.client
import logging
import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol, cast

import requests
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ReadTimeoutError,
)

from mead.actors.green import Timeout, time_limit
from mead.mcp.client.faults import ServerFault
from mead.net.causes import causes_of
from mead.net.fair import HeadTooLong
from mead.net.session import PlainAdapter, PlainSession

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S: Final = 5.0
READ_BYTES: Final = 16384
"""What so much may hold (thousands of tiny events) is read without letting others run."""
MAXIMUM_BODY_BYTES: Final = 4 * 1024 * 1024
"""Source: seed A6, Bounds on what a server says."""

_IDLE_CONNECTIONS: Final = 16
_DRAIN_MS: Final = 50
"""How long to wait for the end of an answer that is complete, to keep its connection."""


_UNSENT: Final = (
    NewConnectionError,
    ConnectTimeoutError,
    ConnectionRefusedError,
    requests.ConnectTimeout,
)
"""Causes that leave no doubt that nothing was sent; a proxy's fault alone is none of them."""


class _Raw(Protocol):
    """What is used of urllib3's response."""

    def read1(self, amt: int, decode_content: bool) -> bytes | None: ...


class Answer:
    """An answer whose status and headers have arrived; valid inside `HttpSession.ask` alone."""

    def __init__(self, response: requests.Response) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._raw = cast("_Raw", response.raw)
        self._ended = False

    @property
    def media_type(self) -> str:
        """In lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def chunks(self, limit: int | None = MAXIMUM_BODY_BYTES) -> Iterator[bytes]:
        """The bytes as they arrive, at most `limit` of them.  Raises ServerFault.

        A compressed answer was not asked for, and a few bytes of one could become any number.
        """
        if self.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise ServerFault("bad_response", "the answer is compressed, which was not asked for")
        size = 0
        while data := self._read():
            size += len(data)
            if limit is not None and size > limit:
                raise ServerFault("response_too_large", f"the answer has more than {limit} bytes")
            yield data
        self._ended = True

    def body(self) -> bytes:
        """All of it.  Raises ServerFault."""
        return b"".join(self.chunks())

    def drain(self) -> None:
        """Read what little is left of a complete answer, so that its connection can be kept."""
        if self._ended:
            return
        limit = time_limit(_DRAIN_MS)
        try:
            self._read()
        except ServerFault:
            pass
        except Timeout as expired:
            if expired is not limit:
                raise
        finally:
            limit.close()

    def _read(self) -> bytes | None:
        try:
            return self._raw.read1(READ_BYTES, decode_content=False)
        except ReadTimeoutError:
            raise ServerFault("timeout", "the server fell silent in its answer") from None
        except (HTTPError, http.client.HTTPException, OSError) as error:
            if any(isinstance(cause, HeadTooLong) for cause in causes_of(error)):
                raise ServerFault("bad_response", "the answer has too many trailers") from None
            raise ServerFault("connection_lost", "the answer broke off") from None


class HttpSession:
    """Requests to one URL.  Shared by all greenlets; keeps idle connections open."""

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None) -> None:
        """`headers` go with every request, unless a request has its own of that name."""
        self._url = url
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "mead", **headers}
        self._session = PlainSession(PlainAdapter(idle_connections=_IDLE_CONNECTIONS), proxy)

    @contextmanager
    def ask(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        silence_ms: float,
    ) -> Generator[Answer]:
        """The answer, whatever its status; its connection is closed or kept at the block's end.

        Raises ServerFault.  Blocks on: network; `silence_ms` is the longest wait for a byte.
        """
        response = self._open(method, headers, body, silence_ms)
        try:
            yield Answer(response)
        finally:
            response.close()

    def _open(
        self, method: str, headers: Mapping[str, str], body: bytes | None, silence_ms: float
    ) -> requests.Response:
        request = requests.PreparedRequest()
        try:
            request.prepare(
                method=method, url=self._url, headers={**self._headers, **headers}, data=body
            )
            return self._session.send(
                request,
                stream=True,
                timeout=(CONNECT_TIMEOUT_S, silence_ms / 1000),
                allow_redirects=False,
            )
        except (requests.RequestException, HTTPError, UnicodeError) as error:
            raise _not_answered(error) from None

    def close(self) -> None:
        """Close the idle connections."""
        self._session.close()


def _not_answered(error: Exception) -> ServerFault:
    """The fault of a request that got no status and headers.  Its own text may hold the URL."""
    causes = list(causes_of(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return ServerFault("unreachable", "the server's certificate could not be verified")
    if isinstance(error, requests.ReadTimeout):
        return ServerFault("timeout", "the server did not answer in time")
    if any(isinstance(cause, _UNSENT) for cause in causes):
        return ServerFault("unreachable", "no connection to the server could be made")
    if any(isinstance(cause, HeadTooLong) for cause in causes):
        return ServerFault("bad_response", "the answer has too many headers")
    if isinstance(error, requests.ConnectionError):
        return ServerFault("connection_lost", "the connection broke before the answer")
    return ServerFault("unreachable", "the request could not be made; check url and headers")
