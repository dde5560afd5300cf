"""A WebSocket client that sends what it is told, right or wrong, and tells exactly what it got."""

import socket
import ssl
from pathlib import Path
from typing import Final, NamedTuple, Self

from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

KEY: Final = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT: Final = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
"""The pair of RFC 6455 section 1.3."""

TEXT: Final = Opcode.TEXT
BINARY: Final = Opcode.BINARY
CONT: Final = Opcode.CONT
CLOSE: Final = Opcode.CLOSE
PING: Final = Opcode.PING
PONG: Final = Opcode.PONG


class Got(NamedTuple):
    """A frame from the server."""

    opcode: Opcode
    data: bytes


END: Final = None
"""What `receive` gives when the stream ended at a frame's boundary."""


def masked(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    """A client's frame."""
    frame = Frame(opcode, data, fin)
    frame.check = lambda: None  # what is wrong is meant
    return frame.serialize(mask=True)


def close(code: int, reason: str = "") -> bytes:
    """A client's Close frame."""
    return masked(CLOSE, code.to_bytes(2, "big") + reason.encode())


def closing(code: int, reason: str = "") -> Got:
    """The server's Close frame."""
    return Got(CLOSE, code.to_bytes(2, "big") + reason.encode())


def upgrade_request(path: str, *more: str, version: str = "13", key: str | None = KEY) -> bytes:
    """The head of an opening handshake."""
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        f"Sec-WebSocket-Version: {version}",
        *([] if key is None else [f"Sec-WebSocket-Key: {key}"]),
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class RawClient:
    """One connection; every wait is bounded by the socket's timeout."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        self.connection = connection
        self._reader = StreamReader()

    @classmethod
    def open(
        cls, port: int, *, ca: Path | None = None, buffer: int = 0, host: str = "127.0.0.1"
    ) -> Self:
        """A connection without a handshake; `buffer` bounds SO_RCVBUF."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(10)
        connection.connect((host, port))
        if ca is not None:
            context = ssl.create_default_context(cafile=ca)
            connection = context.wrap_socket(connection, server_hostname="localhost")
        return cls(connection)

    @classmethod
    def connect(
        cls, port: int, path: str, *, ca: Path | None = None, behind: bytes = b"", buffer: int = 0
    ) -> Self:
        """Shake hands; `behind` is sent in the same packet."""
        client = cls.open(port, ca=ca, buffer=buffer)
        client.send(upgrade_request(path) + behind)
        head = client.receive_head()
        assert head.startswith("HTTP/1.1 101 "), head
        assert f"Sec-WebSocket-Accept: {ACCEPT}\r\n" in head
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def send_text(self, text: str) -> None:
        self.send(masked(TEXT, text.encode()))

    def receive_head(self) -> str:
        """An HTTP head; what comes behind it stays for `receive`."""
        while (end := bytes(self._reader.buffer).find(b"\r\n\r\n")) < 0:
            data = self.connection.recv(65_536)
            assert data, f"closed after {bytes(self._reader.buffer)!r}"
            self._reader.feed_data(data)
        head = bytes(self._reader.buffer[: end + 4])
        del self._reader.buffer[: end + 4]
        return head.decode()

    def receive(self) -> Got | None:
        """The next frame, END at the end.  A stream that ends elsewhere raises EOFError."""
        parsing = Frame.parse(self._reader.read_exact, mask=False)
        while True:
            try:
                next(parsing)
            except StopIteration as done:
                return Got(done.value.opcode, bytes(done.value.data))
            except EOFError:
                if self._reader.buffer:
                    raise
                return END
            self._more()

    def receive_text(self) -> str:
        """The text of the next frame, which is one of text."""
        got = self.receive()
        assert got is not None
        assert got.opcode is TEXT, got
        return got.data.decode()

    def receive_rest(self) -> list[Got]:
        """Every frame until the end."""
        rest: list[Got] = []
        while (got := self.receive()) is not END:
            rest.append(got)
        return rest

    def end(self) -> None:
        """Send nothing more; go on receiving."""
        self.connection.shutdown(socket.SHUT_WR)

    def _more(self) -> None:
        data = self.connection.recv(65_536)
        if data:
            self._reader.feed_data(data)
        elif not self._reader.eof:
            self._reader.feed_eof()
