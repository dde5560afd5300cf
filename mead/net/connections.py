"""urllib3's connections with answers that hold nobody up."""

from http.client import HTTPResponse
from typing import Any, cast

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.poolmanager import PoolManager

from mead.net.fair import FairResponse


class FairConnection(HTTPConnection):
    """Over TCP."""

    response_class: type[HTTPResponse] = FairResponse


class FairTlsConnection(HTTPSConnection):
    """Over TLS."""

    response_class: type[HTTPResponse] = FairResponse


def use_connections(
    manager: PoolManager,
    plain: type[HTTPConnection] = FairConnection,
    tls: type[HTTPSConnection] = FairTlsConnection,
) -> None:
    """Have the manager make its connections of these classes."""
    http = type("HttpPool", (HTTPConnectionPool,), {"ConnectionCls": plain})
    https = type("HttpsPool", (HTTPSConnectionPool,), {"ConnectionCls": tls})
    manager.pool_classes_by_scheme = cast(Any, {"http": http, "https": https})
