"""The client's WebSocket: that of `websockets`, except for how it ends.

There a thread (a greenlet, in a patched process) reads.  Whoever closes the socket would close its
descriptor while it is registered with the reader's selector, which the contract of selectors
forbids: libev ends the process when the reader, held back by a full queue, goes on to wait for it.
Here whoever closes shuts the connection down, which wakes the reader, and the reader closes the
descriptor when its selector is gone: under the mutex, for others send under that.
"""

import logging
import socket
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from mead.deck.protocol import SUBPROTOCOL

OPEN_TIMEOUT_S: Final = 10.0
CLOSE_TIMEOUT_S: Final = 1.0
SEND_TIMEOUT_S: Final = 30.0
"""How long a server may take nothing of a frame, or leave one of TLS unfinished."""
MESSAGE_BYTES: Final = 16 * 1_048_576
"""A snapshot may hold a queue of long prompts."""

SILENT: Final = logging.Logger("websockets", logging.CRITICAL + 1)
"""`websockets` would log frames, which hold prompts, and the traceback of every lost connection."""


class Connection(ClientConnection):
    """Its reader alone closes the descriptor, as the last thing it does."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        sock.settimeout(SEND_TIMEOUT_S)
        super().__init__(sock, *arguments, **options)

    def handshake(self, *arguments: Any, **options: Any) -> None:
        """No redirect is followed: a ticket is for the server that gave it."""
        try:
            super().handshake(*arguments, **options)
        except InvalidStatus as error:
            raise InvalidHandshake(f"status {error.response.status_code}") from None

    def recv_events(self) -> None:
        try:
            super().recv_events()
        finally:
            with self.protocol_mutex:
                self.socket.close()
            self.shutdown_notifier.close()

    def close_socket(self) -> None:
        """Have the reader end, wherever it waits; nobody receives or sends from now on."""
        self._shut_down()
        with self.protocol_mutex:
            self.protocol.receive_eof()
            self.recv_messages.close()
            self.terminate_pending_pings()

    def close(self, code: CloseCode | int = CloseCode.NORMAL_CLOSURE, reason: str = "") -> None:
        """Say goodbye, or be quit of a server that does not take what is being sent.

        Blocks on: the server, for twice CLOSE_TIMEOUT_S.
        """
        if self.protocol_mutex.acquire(timeout=CLOSE_TIMEOUT_S):
            self.protocol_mutex.release()
        else:
            self._shut_down()
        super().close(code, reason)

    def _shut_down(self) -> None:
        """Not the TLS socket's own `shutdown`, which takes its session away under the reader."""
        with suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)


def upgrade(url: str, ticket: str) -> AbstractContextManager[ClientConnection]:
    """A context that opens the socket, and closes it.  Raises WebSocketException, OSError."""
    return connect(
        url,
        subprotocols=[Subprotocol(SUBPROTOCOL), Subprotocol(f"ticket.{ticket}")],
        compression=None,
        proxy=None,
        ping_interval=None,
        open_timeout=OPEN_TIMEOUT_S,
        close_timeout=CLOSE_TIMEOUT_S,
        max_size=MESSAGE_BYTES,
        logger=SILENT,
        create_connection=Connection,
    )
