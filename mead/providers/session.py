"""The session of a provider's HTTP client: it connects to the address that was checked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from requests import PreparedRequest

from mead.net.session import PlainAdapter, PlainSession
from mead.providers.reuse import watch

_IDLE_CONNECTIONS: Final = 64


def session_to(
    resolve: Callable[[], str] | None, *, proxy: str | None, certificates: Path | None
) -> PlainSession:
    """`resolve` gives the address to connect to, asked anew for every request."""
    return PlainSession(_Adapter(resolve, certificates), proxy)


class _Adapter(PlainAdapter):
    """Connects where `resolve` says, while Host, SNI and certificate keep the name."""

    def __init__(self, resolve: Callable[[], str] | None, certificates: Path | None) -> None:
        self._resolve = resolve
        super().__init__(
            idle_connections=_IDLE_CONNECTIONS, prepare=watch, certificates=certificates
        )

    def build_connection_pool_key_attributes(
        self, request: PreparedRequest, verify: object, cert: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        host, pool = super().build_connection_pool_key_attributes(request, verify)
        if self._resolve is not None:
            name, host["host"] = host["host"], self._resolve()
            if host["scheme"] == "https":
                pool["server_hostname"] = name
        return host, pool

    def add_headers(self, request: PreparedRequest, **kwargs: Any) -> None:
        """The name, not the checked address, is the Host."""
        if self._resolve is not None:
            request.headers["Host"] = urlsplit(str(request.url)).netloc.rpartition("@")[2]


def prepared(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None
) -> PreparedRequest:
    """The request with exactly these headers (and Content-Length).  Raises RequestException."""
    request = PreparedRequest()
    request.prepare(method=method, url=url, headers=dict(headers), data=body)
    return request
