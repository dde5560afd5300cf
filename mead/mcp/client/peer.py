"""The requests under way on one connection, and what the server says unasked.

Not an actor: a table that is changed without waiting, by whoever calls and by whoever reads.  A
call through a mailbox would cost two more switches, a third of its price.
"""

import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mead.actors.slot import Slot
from mead.mcp.client.faults import RemoteError, ServerFault
from mead.mcp.client.transport import NO_HEADERS, Transport
from mead.mcp.client.versions import META, client_meta, is_modern
from mead.mcp.jsonrpc import (
    METHOD_NOT_FOUND,
    Error,
    Failure,
    Id,
    Message,
    Notification,
    Request,
    Response,
)

log = logging.getLogger(__name__)

_NULL: Final = object()
"""A result that is null; None is what a wait gives when time is up."""

_NEVER_CANCELLED: Final = frozenset({"initialize", "server/discover"})
_LIST_CHANGED: Final = "notifications/tools/list_changed"


class Peer:
    """The server at the other end.  `request` may be called by any greenlet, any number at once."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        on_changed: Callable[[], None],
        on_lost: Callable[["Peer", ServerFault], None],
    ) -> None:
        """`on_changed()` when the tool list changed, `on_lost(peer, fault)` once; neither waits."""
        self.name = name
        self._transport = transport
        self._on_changed = on_changed
        self._on_lost = on_lost
        self._ids = itertools.count(1)
        self._pending: dict[Id, Slot] = {}
        self._fault: ServerFault | None = None
        self._retired = False
        self._meta: Mapping[str, Any] | None = None
        self.version: str | None = None
        """The revision that was agreed on; None while it is being negotiated."""
        self.dropped = 0
        """Answers that nobody waited for (any more)."""

    # -- what a connection says --------------------------------------------------------------------

    def agree(self, version: str | None) -> None:
        """Speak that revision from now on."""
        self.version = version
        self._meta = client_meta(version) if version is not None and is_modern(version) else None
        self._transport.agree(version)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_ms: float | None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Mapping[str, Any]:
        """The result of the request.

        If the caller is killed, or time runs out, the server is told to stop and a late answer is
        dropped.  Raises ServerFault.  Blocks on: the server, at most `timeout_ms`.
        """
        if self._fault is not None:
            raise self._fault.again()
        id_ = next(self._ids)
        waiting = Slot()
        self._pending[id_] = waiting
        if self._meta is not None:
            params = {**(params or {}), META: self._meta}
        try:
            self._transport.send(Request(id_, method, params), headers)
            answer = self._wait(waiting, id_, method, timeout_ms)
        finally:
            del self._pending[id_]
            if self._retired:
                self._close_if_idle()
        if isinstance(answer, ServerFault):
            raise answer
        if not isinstance(answer, dict):
            raise ServerFault("bad_response", "the result is not a JSON object")
        return cast("dict[str, Any]", answer)

    def _wait(self, waiting: Slot, id_: Id, method: str, timeout_ms: float | None) -> object:
        try:
            answer = waiting.wait(timeout_ms)
            if answer is None:
                raise ServerFault("timeout", f"no answer in {timeout_ms or 0:.0f} ms")
        except BaseException:
            self._transport.abandon(id_, cancel=method not in _NEVER_CANCELLED)
            raise
        return answer

    def notify(self, method: str) -> None:
        """Tell the server.  Raises ServerFault.  Blocks on: see Transport.send."""
        self._transport.send(Notification(method))

    def retire(self) -> None:
        """Take no new requests, and close once those under way have ended."""
        self._retired = True
        if self._fault is None:
            self._fault = ServerFault("connection_lost", "the connection is being replaced")
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._retired and not self._pending:
            self._transport.close()

    # -- what the transport hears: Sink ------------------------------------------------------------

    def received(self, message: Message) -> None:
        """See Sink."""
        if isinstance(message, Response):
            self._settle(message.id, message.result)
        elif isinstance(message, Failure):
            error = message.error
            self._settle(message.id, RemoteError(error.code, error.message, error.data))
        elif isinstance(message, Request):
            self._transport.send(_reply(message))
        elif message.method == _LIST_CHANGED:
            self._on_changed()

    def failed(self, request_id: Id, fault: ServerFault) -> None:
        """See Sink."""
        self._settle(request_id, fault)

    def closed(self, fault: ServerFault) -> None:
        """See Sink."""
        self.unusable(fault)
        for id_ in list(self._pending):
            self._settle(id_, fault.again())

    def unusable(self, fault: ServerFault) -> None:
        """See Sink."""
        if self._fault is None:
            self._fault = fault.again()
            self._on_lost(self, self._fault)

    def _settle(self, id_: Id | None, answer: object) -> None:
        waiting = self._pending.get(id_) if id_ is not None else None
        if waiting is None or waiting.filled:
            self.dropped += 1
        else:
            waiting.put(_NULL if answer is None else answer)


def _reply(request: Request) -> Message:
    """Legacy servers may ask too: a ping is answered, anything else was never offered to them."""
    if request.method == "ping":
        return Response(request.id, {})
    return Failure(request.id, Error(METHOD_NOT_FOUND, "this client does not offer that method"))
