"""A socket as a stream of bounded lines, and where the control socket lies."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mead.control import wire

_CHUNK_BYTES: Final = 65_536


class LineReader:
    """Reads lines from a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._scanned = 0

    def read(self) -> bytes | None:
        """The next line without its end, or None at the end of the stream.

        Raises ValueError for a line over `wire.LINE_LIMIT_BYTES`, OSError.  Blocks on: the peer.
        """
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._scanned = 0
                return line
            self._scanned = len(self._buffer)
            if self._scanned > wire.LINE_LIMIT_BYTES:
                raise ValueError("a line of the control socket is too long")
            chunk = self._connection.recv(_CHUNK_BYTES)
            if not chunk:
                return None
            self._buffer += chunk


@contextmanager
def socket_address(directory: Path) -> Generator[str]:
    """An address of the control socket that is short enough for any directory.

    A Unix socket's path has at most 107 bytes; Linux offers a short way through the descriptor of
    the directory.
    """
    path = str(directory / wire.SOCKET_NAME)
    if len(os.fsencode(path)) < 100 or not os.path.isdir("/proc/self/fd"):  # noqa: PTH112
        yield path
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{wire.SOCKET_NAME}"
    finally:
        os.close(handle)
