"""HTTP to a model: one client per slot, its connections, retries, time limits and byte source.

    client = HttpClient("http://127.0.0.1:11434", headers={...}, connect_timeout_ms=5000, ...)
    call = Call("POST", "/api/chat", body)
    reply = client.run(call, read, shown=lambda: text_was_handed_out)

`read(answer)` gets an Answer whatever its status is; it turns refusals into ProviderFault
(`mead.providers.errors`), takes the body with `answer.body()` or `answer.chunks()`, and returns
what the caller wants.  Killing the greenlet, or leaving `read` early, closes the connection at
once.  Nothing is taken from the environment and no redirect is followed: a 3xx is an Answer too.
"""

import http.client
import logging
import random
import re
import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from mead.actors.green import sleep_ms
from mead.errors import ConfigurationError
from mead.net.causes import causes_of
from mead.providers.answer import Answer
from mead.providers.errors import ProviderFault
from mead.providers.reuse import StaleConnection
from mead.providers.session import prepared, session_to

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_BACKOFF_MS: Final = 500
_LONGEST_BACKOFF_MS: Final = 8000
_JITTER: Final = 0.25
"""The three of Anthropic's own clients."""
_LONGEST_RETRY_AFTER_MS: Final = 20_000
"""A server that asks to wait longer is not waited for: most of a usual turn would be gone."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `path` is put behind the base URL and begins with a slash."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class HttpClient:
    """Calls to one base URL.  Shared by all greenlets; keeps idle connections open."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        connect_timeout_ms: int = 5000,
        receive_timeout_ms: int = 25000,
        max_retries: int = 2,
        proxy: str | None = None,
        resolve: Callable[[], str] | None = None,
        certificates: Path | None = None,
        advice: str = "",
        first_backoff_ms: float = _FIRST_BACKOFF_MS,
    ) -> None:
        """Connects to nothing yet.  Raises ConfigurationError.

        `resolve` gives the IP address to connect to, anew for each request (the promise of the slot
        `local`); what it raises ends the call.  `certificates` replaces the usual roots.  `headers`
        go with every call; their values are secrets.  `advice` is what to do when nobody answers.
        """
        self._base_url = base_url.rstrip("/")
        self._headers = {"User-Agent": "mead", "Accept-Encoding": "identity", **(headers or {})}
        self._secrets = tuple(value.split()[-1] for value in (headers or {}).values() if value)
        self._target, self._port = _target(base_url)
        _check(self._headers, proxy, resolve)
        self._address = self._target
        self._timeout = (connect_timeout_ms / 1000, receive_timeout_ms / 1000)
        self._max_retries = max_retries
        self._advice = advice
        self._first_backoff_ms = first_backoff_ms
        self._session = session_to(
            None if resolve is None else partial(self._checked, resolve),
            proxy=proxy,
            certificates=certificates,
        )

    @property
    def host(self) -> str:
        """`address:port` that calls go to: the checked address, once there is one, or the name."""
        shown = f"[{self._address}]" if ":" in self._address else self._address
        return f"{shown}:{self._port}"

    def close(self) -> None:
        """Close the idle connections.  Running calls go on."""
        self._session.close()

    def run(
        self, call: Call, read: Callable[[Answer], T], *, shown: Callable[[], bool] | None = None
    ) -> T:
        """What `read` makes of the answer.

        Tried again after a retryable ProviderFault, unless some of the answer was already `shown`.
        Raises ProviderFault, and what `read` or `resolve` raise.  Blocks on: network, back-off.
        """
        attempt = 0
        while True:
            try:
                with self.send(call) as answer:
                    return read(answer)
            except ProviderFault as fault:
                delay_ms = self._delay_ms(fault, attempt)
                if delay_ms is None or (shown is not None and shown()):
                    raise
                attempt += 1
                log.info("%s: %s, retry %d in %d ms", self.host, fault.reason, attempt, delay_ms)
            sleep_ms(delay_ms)

    @contextmanager
    def send(self, call: Call) -> Generator[Answer]:
        """One attempt; the connection is closed or returned when the block ends.

        Raises ProviderFault (`provider_unavailable`, `provider_timeout`, `bad_response`).
        """
        response = self._open(call)
        try:
            answer = Answer(response, self._secrets)
            yield answer
            if not answer.ended:
                answer.drain()
        finally:
            response.close()

    def _open(self, call: Call) -> requests.Response:
        while True:  # each round takes an idle connection away, and a new one is not stale
            try:
                return self._attempt(call)
            except StaleConnection:
                continue

    def _attempt(self, call: Call) -> requests.Response:
        headers = {**self._headers, **call.headers}
        try:
            request = prepared(call.method, self._base_url + call.path, headers, call.body)
            return self._session.send(
                request, stream=True, timeout=self._timeout, allow_redirects=False
            )
        except (requests.RequestException, HTTPError) as error:
            causes = list(causes_of(error))
            if any(isinstance(cause, StaleConnection) for cause in causes):
                raise StaleConnection from None
            raise self._not_answered(error, causes) from None

    def _not_answered(self, error: Exception, causes: list[BaseException]) -> ProviderFault:
        """The fault of a call that got no status line and headers."""
        host = self.host
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            return ProviderFault(
                "provider_unavailable", f"the certificate of {host} could not be verified"
            )
        if isinstance(error, requests.ReadTimeout):
            return ProviderFault("provider_timeout", f"{host} did not answer in time")
        if any(_is_garbage(cause) for cause in causes):
            return ProviderFault("bad_response", f"what {host} answered is not HTTP")
        sentence = f"{host} could not be reached{self._advice}"
        return ProviderFault("provider_unavailable", sentence, retryable=True)

    def _checked(self, resolve: Callable[[], str]) -> str:
        self._address = resolve()
        return self._address

    def _delay_ms(self, fault: ProviderFault, attempt: int) -> float | None:
        """How long to wait before the next attempt; None when there is none."""
        if not fault.retryable or attempt >= self._max_retries:
            return None
        asked = fault.retry_after_ms
        if asked is not None:
            return asked if asked <= _LONGEST_RETRY_AFTER_MS else None
        backoff = min(self._first_backoff_ms * 2**attempt, _LONGEST_BACKOFF_MS)
        return backoff * (1 - _JITTER * random.random())  # noqa: S311 - spreads load, no secret


def _target(base_url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise ConfigurationError(["base_url is not a URL"]) from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ConfigurationError(["base_url must begin with http:// or https:// and name a host"])
    return parts.hostname, port if port is not None else _DEFAULT_PORTS[parts.scheme]


def _check(
    headers: Mapping[str, str], proxy: str | None, resolve: Callable[[], str] | None
) -> None:
    """Refuse what would fail, or be quoted by requests' own errors, at the first call."""
    for name, value in headers.items():
        if _HEADER_VALUE.fullmatch(value) is None:
            raise ConfigurationError([f"the value for the header {name} cannot travel in one"])
    if proxy is not None and urlsplit(proxy).scheme not in _DEFAULT_PORTS:
        raise ConfigurationError(["proxy must begin with http:// or https://"])
    if proxy is not None and resolve is not None:
        raise ConfigurationError(["proxy is not allowed where the address is checked"])


def _is_garbage(error: BaseException) -> bool:
    """Whether bytes came that are no HTTP answer (a closed connection is none of these)."""
    return isinstance(error, http.client.HTTPException) and not isinstance(
        error, http.client.RemoteDisconnected | http.client.IncompleteRead
    )
