"""A device that only listens, as cheaply as can be: many of them fit into one test."""

import json
from typing import Any, Final

from tests.deck.e2e.client import Client
from tests.helpers.raw_websocket import PONG, masked

TEXT: Final = 0x81
PING: Final = 0x89
CLOSE: Final = 0x88


class Listener:
    """Reads frames in bulk and looks at each event's sequence alone."""

    def __init__(self, client: Client) -> None:
        """`client` has resumed."""
        self.client = client
        self.connection = client.socket.connection
        self._buffer = bytearray(client.socket._reader.buffer)
        self.last = client.last_sequence
        self.is_in_order = True
        self.closed: tuple[int, str] | None = None

    def listen(self, upto: int, size: int = 65_536) -> None:
        """Until that event has come, or the end."""
        while self.last < upto and self.closed is None:
            self.read(size)

    def read(self, size: int = 65_536) -> bool:
        """Take what has come; False at the end."""
        try:
            data = self.connection.recv(size)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        self._take_frames()
        return bool(data)

    def _take_frames(self) -> None:
        buffer, at = self._buffer, 0
        while len(buffer) - at >= 2:
            length, start = buffer[at + 1], at + 2
            if length == 126:
                length, start = int.from_bytes(buffer[at + 2 : at + 4], "big"), at + 4
            elif length == 127:
                length, start = int.from_bytes(buffer[at + 2 : at + 10], "big"), at + 10
            if len(buffer) < start + length:
                break
            self._take(buffer[at], bytes(buffer[start : start + length]))
            at = start + length
        del buffer[:at]

    def _take(self, head: int, data: bytes) -> None:
        if head == TEXT:
            message: dict[str, Any] = json.loads(data)
            sequence = message.get("sequence")
            if sequence is not None:
                self.is_in_order = self.is_in_order and sequence == self.last + 1
                self.last = sequence
        elif head == PING:
            self.connection.sendall(masked(PONG, data))
        elif head == CLOSE:
            self.closed = int.from_bytes(data[:2], "big"), data[2:].decode()
