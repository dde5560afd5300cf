"""The pipes between Mead and the launcher of a tool server.  Nothing here blocks the hub."""

import fcntl
import os
import socket
from collections.abc import Callable
from typing import Final, cast

import gevent
from gevent import monkey

from mead.actors.green import pause

READ_BYTES: Final = 65536
FEED_BYTES: Final = 8192
"""In one turn of the hub: even as lines of garbage these cost it a few milliseconds only."""

_READS_IN_A_ROW: Final = 8
"""After that many reads without a wait the other greenlets get their turn."""

_close: Final = cast("Callable[[int], None]", monkey.get_original("os", "close"))
"""gevent's own puts the closing off until its loop turns next: a server would wait for the end of
its input.  None of these descriptors is watched when it is closed."""

_LOWEST_FD: Final = 10
"""Our ends lie above the four descriptors that the launcher gets, so that none is overwritten."""


class Pipe:
    """Our end of a pipe."""

    def __init__(self, fd: int, events: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._hub = gevent.get_hub()
        self._watcher = self._hub.loop.io(fd, events)

    def wait(self) -> None:
        """Until it can be read or written."""
        self._hub.wait(self._watcher)

    def feed(self, take: Callable[[bytes], None]) -> None:
        """Hand what comes to `take`, in the hub, so that it must not wait; b"" at the end.

        A greenlet that reads would cost two more switches for every answer of a server.
        """
        self._watcher.start(self._readable, take)

    def _readable(self, take: Callable[[bytes], None]) -> None:
        try:
            data = os.read(self.fd, FEED_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._watcher.stop()
        take(data)

    def close(self) -> None:
        """Idempotent; nobody may be waiting."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            self._watcher.stop()
            self._watcher.close()
            _close(fd)


class Reads:
    """What comes out of a pipe, piece by piece, with a turn for others now and then."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._in_a_row = 0

    def __iter__(self) -> "Reads":
        return self

    def __next__(self) -> bytes:
        self._in_a_row += 1
        if self._in_a_row > _READS_IN_A_ROW:
            self._in_a_row = 0
            pause()
        while True:
            try:
                data = os.read(self._pipe.fd, READ_BYTES)
            except BlockingIOError:
                self._in_a_row = 0
                self._pipe.wait()
                continue
            except OSError:
                raise StopIteration from None
            if not data:
                raise StopIteration
            return data


class Ends:
    """The descriptors of one launcher: three pipes and a socket, both sides."""

    def __init__(self) -> None:
        self._theirs: list[int] = []
        stdin, self.stdin = self._pipe()
        self.stdout, stdout = self._pipe()
        self.stderr, stderr = self._pipe()
        self.control, control = socket.socketpair()
        self._theirs = [stdin, stdout, stderr, _high(control.detach())]

    def _pipe(self) -> tuple[int, int]:
        read, write = os.pipe()
        return _high(read), _high(write)

    def actions(self) -> list[tuple[int, int, int]]:
        return [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(self._theirs)]

    def close_theirs(self) -> None:
        for fd in self._theirs:
            _close(fd)

    def close_ours(self) -> None:
        for fd in (self.stdin, self.stdout, self.stderr):
            _close(fd)
        self.control.close()


def _high(fd: int) -> int:
    """The descriptor, moved out of the way of the launcher's four."""
    if fd >= _LOWEST_FD:
        return fd
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    _close(fd)
    return moved
