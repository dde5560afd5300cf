"""The opening handshake: whether a request may become a WebSocket, and the answer if so.

Pure but for the environ that it is given.  Source: RFC 6455 section 4.2, SPEC section 8.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from websockets.datastructures import Headers
from websockets.exceptions import InvalidHeader, InvalidUpgrade
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from mead.protocols.sockets import UpgradeRefused
from mead.web.websocket.incoming import SILENT

VERSION: Final = "13"

_FIELDS: Final = (
    "Connection",
    "Upgrade",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Protocol",
)
"""All that is looked at.  No extension is offered: permessage-deflate doubles the cost of a push
and adds 90 KiB to a connection."""


def answer(environ: Mapping[str, Any], subprotocols: Sequence[str]) -> bytes:
    """The bytes of the 101 answer, with the first of `subprotocols` that the client offers.

    Raises UpgradeRefused: 426 without an upgrade or with another version, 400 for any other fault
    (no key, or a body, whose bytes could not be told from frames).
    """
    if environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ:
        raise UpgradeRefused(400, "bad_request", {})
    protocol = ServerProtocol(select_subprotocol=_chooser(subprotocols), logger=SILENT)
    response = protocol.accept(_request(environ))
    if protocol.handshake_exc is not None:
        raise _refusal(protocol.handshake_exc)
    return response.serialize()


def _chooser(ours: Sequence[str]) -> Any:
    """A client that offers none of ours is accepted without: the ticket may be in the query."""

    def choose(_: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
        return next((Subprotocol(name) for name in ours if name in offered), None)

    return choose


def _request(environ: Mapping[str, Any]) -> Request:
    headers = Headers()
    for name in _FIELDS:
        value = environ.get("HTTP_" + name.upper().replace("-", "_"))
        if value is not None:
            headers[name] = value
    method, version = environ["REQUEST_METHOD"], environ["SERVER_PROTOCOL"]
    return Request("/", headers, method, version)


def _refusal(fault: Exception) -> UpgradeRefused:
    if isinstance(fault, InvalidUpgrade):
        return UpgradeRefused(426, "upgrade_required", {"Upgrade": "websocket"})
    if isinstance(fault, InvalidHeader) and fault.name == "Sec-WebSocket-Version":
        return UpgradeRefused(
            426, "upgrade_required", {"Upgrade": "websocket", "Sec-WebSocket-Version": VERSION}
        )
    return UpgradeRefused(400, "bad_request", {})
