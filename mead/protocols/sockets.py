"""WebSockets, as the deck uses them: whole messages in, ready frames out.

`mead.web.websocket` implements them; wsgi hands its engine to the blueprint that declares the
route.  Source: SPEC section 8, "Back pressure" and "Closing".
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol


class Closed(NamedTuple):
    """How a socket ended: the side that was first decides.

    `code` is 1005 when the client gave none, 1006 when the connection was lost.
    """

    code: int
    reason: str = ""


class UpgradeRefused(Exception):
    """The request cannot become a WebSocket; nothing was sent yet."""

    def __init__(self, status: int, code: str, headers: Mapping[str, str]) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        """One word for the JSON answer, such as `upgrade_required`."""
        self.headers = headers


class FrameSocket(Protocol):
    """One WebSocket.  One greenlet receives; any greenlet may call the rest.

    A frame is what `encode_text` makes.  Frames reach the client whole and in the order in which
    they were given; those that wait together are sent together.
    """

    @property
    def closed(self) -> Closed | None:
        """How it ended, as soon as either side has begun to close it; None while it is open."""
        ...

    @property
    def last_activity(self) -> float:
        """When (monotonic, seconds) the last frame of any kind came from the client."""
        ...

    def receive(self, timeout_ms: float | None = None) -> str | bytes | None:
        """The next message, text or binary; None at the end.

        What is not received is not read either, so that a client which floods is slowed down by
        TCP.  Raises TimeoutError; the socket is as before.  Blocks on: the client.
        """
        ...

    def send(self, frame: bytes, *, counts: bool = True) -> bool:
        """Put a frame into the socket's queue; False when it is closed.

        A queue that would hold more than its limits closes the socket with 1013 instead, and the
        client resumes; a frame that does not count is no part of that.  Blocks on: nothing.
        """
        ...

    def send_paced(self, frame: bytes) -> bool:
        """Send a frame at the client's pace, outside of the queue's limits; False when closed.

        For replays: returns once all that was sent before has left.  Blocks on: the client, at
        most as long as the kernel lets sent bytes lie unread.
        """
        ...

    def ping(self) -> bool:
        """Send a WebSocket ping; False when the socket is closed.  Blocks on: nothing."""
        ...

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Close it behind what is queued; `receive` then returns None.  Blocks on: nothing.

        The client has about a second to answer and to read what it was sent.
        """
        ...

    @staticmethod
    def encode_text(text: bytes) -> bytes:
        """A text frame of UTF-8 bytes; the same frame serves every socket."""
        ...


class ServedSocket(FrameSocket, Protocol):
    """A FrameSocket as flask-sock and its route's wrapper see it."""

    mode: str
    """flask-sock's word for the server behind it."""

    def run(self, handler: Callable[[], object]) -> None:
        """Run the route's view and see the socket to its end, whatever the view does.

        A view that raises closes with 1011, one that returns with 1000.  Raises nothing.
        Blocks on: the view, then at most about a second.
        """
        ...


class SocketEngine(Protocol):
    """Makes WebSockets of requests."""

    def check(self, environ: Mapping[str, Any]) -> None:
        """Raise UpgradeRefused for a request that `accept` would not take.  Sends nothing."""
        ...

    def accept(self, environ: Mapping[str, Any]) -> ServedSocket:
        """Upgrade the current request's connection.  Raises UpgradeRefused."""
        ...
