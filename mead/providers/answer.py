"""What a server answered: its status and headers, and its body as it arrives."""

import http.client
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Protocol, cast

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from mead.actors.green import Timeout, time_limit
from mead.net.causes import causes_of
from mead.net.fair import HeadTooLong, Spell
from mead.providers.errors import ProviderFault, retry_after_ms

READ_BYTES: Final = 16384
"""What so much may hold (thousands of tiny events) is read without letting others run."""
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""A plain answer longer than this is no answer of a model; one event has the same limit."""
MAX_ERROR_BYTES: Final = 65536
_ERROR_BODY_MS: Final = 5000
"""How long the body of a refusal may take; its status alone is enough to go on."""
_DRAIN_MS: Final = 50
"""How long to wait for the end of a body after its end marker, so that the connection can serve
the next call of a tool loop (a new one costs a TLS handshake)."""
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")


class _Raw(Protocol):
    """What is used of urllib3's response."""

    def read1(self, amt: int, decode_content: bool) -> bytes | None: ...

    def close(self) -> None: ...


class Answer:
    """An answer whose status and headers have arrived; valid inside `run` or `send` alone."""

    def __init__(self, response: requests.Response, secrets: tuple[str, ...]) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._raw = cast(_Raw, response.raw)
        self._secrets = secrets
        self.ended = False
        """Whether the body was read to its end, so that the connection can be used again."""

    @property
    def content_type(self) -> str:
        """The media type in lower case without parameters, empty when there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def request_id(self) -> str | None:
        """The provider's name for this call, if it is safe to show."""
        value = self.headers.get("request-id") or self.headers.get("x-request-id") or ""
        shown = _REQUEST_ID.fullmatch(value) is not None and self.safe(value)
        return value if shown else None

    def safe(self, text: str) -> bool:
        """Whether the text holds none of the secrets that were sent, nor a part of one."""
        return not any(text in secret or secret in text for secret in self._secrets)

    @property
    def retry_after_ms(self) -> float | None:
        """How long the server asks to wait; None when it does not say."""
        return retry_after_ms(self.headers)

    @property
    def should_retry(self) -> bool | None:
        """What the server says about a retry (`x-should-retry`); None when it does not say."""
        return {"true": True, "false": False}.get(self.headers.get("x-should-retry", ""))

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the body as they arrive, never empty.

        Raises ProviderFault: `provider_timeout` after receive_timeout_ms of silence,
        `bad_response` (retryable) when the connection breaks, or for a compressed body: none was
        asked for, and a few bytes of one could become any number.  A body without length or chunks
        that is cut just ends: only the protocol's own end marker proves that it was whole.
        Blocks on: network.
        """
        if self.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise ProviderFault(
                "bad_response", "the answer is compressed, which was not asked for; check proxies"
            )
        spell = Spell()
        while data := self._read():
            yield data
            spell.give_way()
        self.ended = True

    def _read(self) -> bytes | None:
        try:
            return self._raw.read1(READ_BYTES, decode_content=False)
        except ReadTimeoutError:
            raise ProviderFault(
                "provider_timeout", "the provider fell silent in the middle of its answer"
            ) from None
        except (HTTPError, http.client.HTTPException, OSError) as error:
            if any(isinstance(cause, HeadTooLong) for cause in causes_of(error)):
                raise ProviderFault("bad_response", "the answer has too many trailers") from None
            raise ProviderFault(
                "bad_response",
                "the connection broke in the middle of the provider's answer",
                retryable=True,
            ) from None

    def body(self, limit: int = MAX_BODY_BYTES) -> bytes:
        """The whole body.  Raises as `chunks`, and `bad_response` beyond `limit` bytes."""
        held = bytearray()
        for part in self.chunks():
            held += part
            if len(held) > limit:
                raise ProviderFault("bad_response", f"the answer is larger than {limit} bytes")
        return bytes(held)

    def refusal_body(self, within_ms: float = _ERROR_BODY_MS) -> bytes:
        """The body of an error answer, as much of it as comes soon.  Never raises."""
        held = bytearray()
        with _within(within_ms), suppress(ProviderFault):  # the status says enough
            for part in self.chunks():
                held += part
                if len(held) > MAX_ERROR_BYTES:
                    break
        return bytes(held)

    def drain(self) -> None:
        """Read what little is left, so that the connection can be used again."""
        with _within(_DRAIN_MS), suppress(ProviderFault):  # the answer itself was complete
            self.ended = not self._read()


@contextmanager
def _within(duration_ms: float) -> Generator[None]:
    """Leave the block after that long, without an error."""
    limit = time_limit(duration_ms)
    try:
        yield
    except Timeout as expired:
        if expired is not limit:
            raise
    finally:
        limit.close()
