"""Connections that know whether they have served before.

A server may close an idle connection at the very moment that the next request is sent on it.  That
is no failure of the server, and no answer was lost: such a request is sent again on a new
connection, without counting as a retry.  (llama.cpp closes many connections after an answer.)
"""

from http.client import RemoteDisconnected
from typing import Any, cast

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.poolmanager import PoolManager
from urllib3.response import HTTPResponse


class StaleConnection(OSError):
    """The server had closed a connection that served an earlier request."""


class _Http(HTTPConnection):
    """A connection whose loss says whether it was new."""

    served = False

    def connect(self) -> None:
        self.served = False
        super().connect()

    def getresponse(self) -> HTTPResponse:
        try:
            response = super().getresponse()
        except (RemoteDisconnected, ConnectionError):
            if self.served:
                raise StaleConnection from None
            raise
        self.served = True
        return response


class _Https(_Http, HTTPSConnection):
    """The same over TLS."""


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = cast(Any, _Http)


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = cast(Any, _Https)


def watch(manager: PoolManager) -> None:
    """Make the manager's connections know."""
    manager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
