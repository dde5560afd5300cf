"""Connections that know whether they have served before.

A server may close an idle connection at the very moment that the next request is sent on it.  That
is no failure of the server, and no answer was lost: such a request is sent again on a new
connection, without counting as a retry.  (llama.cpp closes many connections after an answer.)
"""

from http.client import RemoteDisconnected

from urllib3.poolmanager import PoolManager
from urllib3.response import HTTPResponse

from mead.net.connections import FairConnection, FairTlsConnection, use_connections


class StaleConnection(OSError):
    """The server had closed a connection that served an earlier request."""


class _Http(FairConnection):
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


class _Https(_Http, FairTlsConnection):
    """The same over TLS."""


def watch(manager: PoolManager) -> None:
    """Make the manager's connections know."""
    use_connections(manager, _Http, _Https)
