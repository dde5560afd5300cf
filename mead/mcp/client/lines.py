"""Bytes into lines, bounded.  Pure.

A line that grows beyond the limit is thrown away up to its end; of its head and tail just enough is
kept to tell which request it answers, so that its caller need not wait for the time limit.
"""

import re
from typing import Final

MAXIMUM_LINE_BYTES: Final = 4 * 1024 * 1024
"""As an HTTP response (seed A6): a result is cut at 50 000 characters anyway."""

_KEPT_BYTES: Final = 256
_ID_FIRST: Final = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,'
)
_ID_LAST: Final = re.compile(
    rb',\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$'
)


class Oversize:
    """A line that was thrown away."""

    __slots__ = ("request_id",)

    def __init__(self, head: bytes, tail: bytes) -> None:
        found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
        self.request_id: int | None = None if found is None else int(found[1])
        """The request that it answered, if its first or last key told."""


class LineBuffer:
    """Feed it what was read; it gives the lines that are complete, without their ends."""

    def __init__(self, limit: int = MAXIMUM_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        """The beginning of the oversize line that is being thrown away."""
        self._tail = b""

    def feed(self, data: bytes) -> list[bytes | Oversize]:
        """The lines that end in `data`."""
        first, newline, rest = data.partition(b"\n")
        if not newline:
            self._grow(data)
            return []
        found: list[bytes | Oversize] = [self._end(first)]
        if rest:
            *whole, open_ = rest.split(b"\n")
            found += whole
            if open_:
                self._grow(open_)
        return found

    def _grow(self, piece: bytes) -> None:
        if self._head is not None:
            self._tail = (self._tail + piece)[-_KEPT_BYTES:]
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            line = b"".join(self._parts)
            self._head, self._tail = line[:_KEPT_BYTES], line[-_KEPT_BYTES:]
            self._parts.clear()
            self._size = 0

    def _end(self, piece: bytes) -> bytes | Oversize:
        if self._parts or self._head is not None or len(piece) > self._limit:
            self._grow(piece)
        else:
            return piece
        if self._head is not None:
            line: bytes | Oversize = Oversize(self._head, self._tail)
            self._head, self._tail = None, b""
            return line
        line = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line
