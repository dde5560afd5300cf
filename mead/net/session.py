"""A requests session that does nothing by itself.

No proxy, key or certificate from the environment, no netrc, no redirect, no cookie kept, no retry.
"""

import ssl
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import certifi
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from urllib3.poolmanager import PoolManager

from mead.net.connections import use_connections


class PlainSession(Session):
    """See the module.  `proxy`: the one that the operator named, for every request."""

    def __init__(self, adapter: HTTPAdapter, proxy: str | None) -> None:
        super().__init__()
        self.trust_env = False
        self.max_redirects = 0
        self.headers.clear()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        if proxy is not None:
            self.proxies = {"http": proxy, "https": proxy}
        self.mount("https://", adapter)
        self.mount("http://", adapter)

    def get_redirect_target(self, resp: Response) -> str | None:
        """None: requests would read the whole body of a redirect just to offer the next request."""
        del resp


class PlainAdapter(HTTPAdapter):
    """Connections of our own classes, whose certificates are checked against one set of roots.

    The TLS context is made once: loading the root certificates takes 13 ms of the hub's time.
    """

    def __init__(
        self,
        *,
        idle_connections: int,
        prepare: Callable[[PoolManager], None] = use_connections,
        certificates: Path | None = None,
    ) -> None:
        """`idle_connections`: kept for the next call; more may run at once, and are then closed.

        `prepare` tells a manager of which classes its connections are.  `certificates`: the roots,
        PEM; None is certifi's.
        """
        self._prepare = prepare
        self._roots = certifi.where() if certificates is None else str(certificates)
        self._tls: ssl.SSLContext | None = None
        super().__init__(pool_maxsize=idle_connections, max_retries=0)
        prepare(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **proxy_kwargs)
        self._prepare(manager)
        return manager

    def build_connection_pool_key_attributes(
        self, request: PreparedRequest, verify: object, cert: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Source: requests' own advice for a TLS context of one's own."""
        host, pool = super().build_connection_pool_key_attributes(request, True)
        if host["scheme"] == "https":
            pool["ssl_context"] = self._context()
        return host, pool

    def close(self) -> None:
        """Close the idle connections now; urllib3 alone waits for the garbage collector."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118 - it cannot be iterated
                pool = manager.pools.get(key)
                if pool is not None:
                    pool.close()
        super().close()

    def cert_verify(self, conn: Any, url: object, verify: object, cert: object) -> None:
        """Nothing: the context of the pool verifies."""

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self._roots)
        return self._tls
