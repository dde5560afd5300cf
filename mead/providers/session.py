"""A requests session that does nothing by itself, and connects where it is told to.

No proxy, key or certificate from the environment, no netrc, no redirect, no cookie kept, no retry.
"""

import ssl
from collections.abc import Callable, Mapping
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from mead.providers.reuse import watch

_IDLE_CONNECTIONS: Final = 64
"""Connections kept open for the next call; more may run at once and are closed after use."""


class PlainSession(Session):
    """The session of one HttpClient."""

    def __init__(
        self,
        *,
        proxy: str | None = None,
        resolve: Callable[[], str] | None = None,
        certificates: Path | None = None,
    ) -> None:
        """`resolve` gives the address to connect to, asked anew for every request."""
        super().__init__()
        self.trust_env = False
        self.max_redirects = 0
        self.headers.clear()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        if proxy is not None:
            self.proxies = {"http": proxy, "https": proxy}
        adapter = _Adapter(resolve, certificates)
        self.mount("https://", adapter)
        self.mount("http://", adapter)

    def get_redirect_target(self, resp: Response) -> str | None:
        """None: requests would read the whole body of a redirect just to offer the next request."""
        del resp


class _Adapter(HTTPAdapter):
    """Connects to the address that `resolve` gives, while Host, SNI and certificate keep the name.

    The TLS context is made once: loading the root certificates takes 13 ms of the hub's time.
    """

    def __init__(self, resolve: Callable[[], str] | None, certificates: Path | None) -> None:
        self._resolve = resolve
        self._certificates = certificates
        self._tls: ssl.SSLContext | None = None
        super().__init__(pool_maxsize=_IDLE_CONNECTIONS, max_retries=0)
        watch(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **proxy_kwargs)
        watch(manager)
        return manager

    def build_connection_pool_key_attributes(
        self, request: PreparedRequest, verify: object, cert: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Source: requests' own advice for a custom TLS context."""
        target = urlsplit(str(request.url))
        host = {"scheme": target.scheme, "host": target.hostname, "port": target.port}
        pool: dict[str, Any] = {}
        if target.scheme == "https":
            pool["ssl_context"] = self._context()
            pool["cert_reqs"] = "CERT_REQUIRED"
        if self._resolve is not None:
            host["host"] = self._resolve()
            if target.scheme == "https":
                pool["server_hostname"] = target.hostname
        return host, pool

    def add_headers(self, request: PreparedRequest, **kwargs: Any) -> None:
        """The name, not the checked address, is the Host."""
        if self._resolve is not None:
            request.headers["Host"] = urlsplit(str(request.url)).netloc.rpartition("@")[2]

    def cert_verify(self, conn: Any, url: object, verify: object, cert: object) -> None:
        """Nothing: the context of the pool verifies."""

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            roots = (
                DEFAULT_CA_BUNDLE_PATH if self._certificates is None else str(self._certificates)
            )
            self._tls = ssl.create_default_context(cafile=roots)
        return self._tls


def prepared(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None
) -> PreparedRequest:
    """The request with exactly these headers (and Content-Length).  Raises RequestException."""
    request = PreparedRequest()
    request.prepare(method=method, url=url, headers=dict(headers), data=body)
    return request
