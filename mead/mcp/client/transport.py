"""The seam between a connection and the way its bytes travel: stdio or HTTP."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from mead.mcp.client.faults import ServerFault
from mead.mcp.jsonrpc import Id, Message

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Sink(Protocol):
    """Where a transport puts what it hears; a Peer.  Called from the transport's tasks."""

    def received(self, message: Message) -> None:
        """A message arrived.  Blocks on: network, when it must be answered over HTTP."""
        ...

    def failed(self, request_id: Id, fault: ServerFault) -> None:
        """No answer to that request will come."""
        ...

    def closed(self, fault: ServerFault) -> None:
        """Nothing more will come."""
        ...

    def unusable(self, fault: ServerFault) -> None:
        """New requests have no chance; those under way may still be answered."""
        ...


class Transport(Protocol):
    """One connection's way to its server; used once and then closed."""

    def open(self, sink: Sink) -> None:
        """Begin.  Raises ServerFault.  Blocks on: the launcher's first word (stdio)."""
        ...

    def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Send.  A request returns at once; its answer comes through the sink.

        `headers` go beside the message where there are headers.  Raises ServerFault.
        Blocks on: nothing (stdio); network, for anything but a request (HTTP).
        """
        ...

    def abandon(self, request_id: Id, *, cancel: bool) -> None:
        """Nobody waits for that answer any more; with `cancel` the server is told.

        Blocks on: nothing.
        """
        ...

    def agree(self, version: str | None) -> None:
        """What follows is sent under that revision; None while it is being negotiated."""
        ...

    def close(self) -> None:
        """End, children included.  Idempotent.  Blocks on: the child, bounded (stdio)."""
        ...
