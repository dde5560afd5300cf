"""A tool server's process.

The launcher (launcher.py) is our child, the server is the launcher's: posix_spawn instead of fork,
because forking a process of 1.5 GB holds the hub for 100 ms.  Nothing here blocks the hub.
"""

import json
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import gevent
from gevent.event import Event

import mead.mcp.client
from mead.mcp.client.command import Command
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.pipes import Ends, Pipe, Reads

MAXIMUM_BACKLOG_BYTES: Final = 16 * 1024 * 1024
"""What may wait for a server that does not read."""

RELEASE_MS: Final = 1000
"""For the launcher to kill and to leave, once the socket to it is closed."""

START_MS: Final = 10_000
"""The launcher is a small script; only a very busy machine needs more than 100 ms."""

STOP_MS: Final = 5000
"""A little more than the launcher's own KILL_AFTER_S."""

_LAUNCHER: Final = str(Path(mead.mcp.client.__path__[0]) / "launcher.py")


class Child:
    """One running server, behind its launcher."""

    def __init__(self, command: Command) -> None:
        """Raises ServerFault.  Blocks on: the launcher's first word."""
        self.exit_status: int | None = None
        """Of the server; negative for a signal; None while it runs, or when nobody could tell."""
        self._backlog: deque[bytes] = deque()
        self._backlog_bytes = 0
        self._gone = Event()
        self.ended = Event()
        """Set when the launcher has said its last word; `exit_status` is final then."""
        self._heard = bytearray()
        self._server: int | None = None
        path = command.path()
        self._spawn()
        try:
            self._start(command, path)
        except BaseException:
            self.release()
            self._gone.wait(RELEASE_MS / 1000)
            raise

    # -- starting ----------------------------------------------------------------------------------

    def _spawn(self) -> None:
        """The launcher, with its pipes.  No switch in here, so that its end cannot be missed."""
        ends = Ends()
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", _LAUNCHER],
                {"PATH": os.defpath},
                file_actions=ends.actions(),
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
            )
        except OSError as error:
            ends.close_ours()
            raise ServerFault("cannot_start", f"no process could be made ({error.errno})") from None
        finally:
            ends.close_theirs()
        loop = gevent.get_hub().loop
        loop.install_sigchld()
        self._watcher = loop.child(self.pid, ref=False)
        self._watcher.start(self._reaped)
        self._control = ends.control
        self.stdin = Pipe(ends.stdin, 2)
        self.stdout = Pipe(ends.stdout, 1)
        self.stderr = Pipe(ends.stderr, 1)

    def _reaped(self) -> None:
        """Runs in the hub: the launcher has ended, and with it everything below it."""
        self._watcher.stop()
        self._watcher.close()
        self._gone.set()

    def _start(self, command: Command, path: str) -> None:
        order = {
            "path": path,
            "argv": [command.command, *command.arguments],
            "environment": dict(command.environment),
            "directory": None if command.directory is None else str(command.directory),
        }
        limit = gevent.Timeout.start_new(START_MS / 1000)
        try:
            self._control.sendall(json.dumps(order).encode() + b"\n")
            answer = self._hear()
        except gevent.Timeout as expired:
            if expired is not limit:
                raise
            raise ServerFault("cannot_start", "the launcher did not answer in time") from None
        except OSError:
            raise ServerFault("cannot_start", "the launcher ended") from None
        finally:
            limit.close()
        if answer is None or "pid" not in answer:
            number = int((answer or {}).get("error", 0))
            raise ServerFault("cannot_start", f"the command did not start: {os.strerror(number)}")
        self._server = int(answer["pid"])

    def _hear(self) -> dict[str, Any] | None:
        """The launcher's next word; None when it has ended.  Raises OSError."""
        while b"\n" not in self._heard:
            piece = self._control.recv(4096)
            if not piece:
                return None
            self._heard += piece
        line, _, rest = bytes(self._heard).partition(b"\n")
        self._heard = bytearray(rest)
        return json.loads(line)

    # -- talking -----------------------------------------------------------------------------------

    def read(self, pipe: Pipe) -> Reads:
        """Iterate over what comes; ends with the pipe."""
        return Reads(pipe)

    def write(self, data: bytes) -> bool:
        """Write to stdin, or keep what does not fit; whether `drain` has to be started.

        Raises ServerFault.  Blocks on: nothing.
        """
        if not self._backlog:
            data = data[self._write_some(data) :]
            if not data:
                return False
        elif self._backlog_bytes + len(data) > MAXIMUM_BACKLOG_BYTES:
            raise ServerFault("connection_lost", "the server does not read what it is sent")
        self._backlog.append(data)
        self._backlog_bytes += len(data)
        return len(self._backlog) == 1

    def drain(self) -> None:
        """Write what was kept.  Raises ServerFault.  Blocks on: the server."""
        while self._backlog:
            self.stdin.wait()
            data = self._backlog[0]
            written = self._write_some(data)
            self._backlog_bytes -= written
            if written == len(data):
                self._backlog.popleft()
            else:
                self._backlog[0] = data[written:]

    def _write_some(self, data: bytes) -> int:
        try:
            return os.write(self.stdin.fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            raise ServerFault("connection_lost", "the server closed its standard input") from None

    # -- ending ------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Hear the launcher out.  Blocks until the launcher has ended."""
        with suppress(OSError):
            while (word := self._hear()) is not None:
                self.exit_status = word.get("exit", self.exit_status)
        self.ended.set()
        self._gone.wait()
        # It ends after the last process below it, unless it was itself killed.
        if self.exit_status is None and self._server is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._server, signal.SIGKILL)

    def stop(self) -> None:
        """Ask the server to end, wait, and make sure.  Blocks on: the server, at most STOP_MS."""
        with suppress(OSError):
            self._control.sendall(b"s")
        self.stdin.close()
        self._gone.wait(STOP_MS / 1000)

    def release(self) -> None:
        """Let go of everything.  What still runs is killed by the launcher.

        The reading greenlets must have ended.  Blocks on: nothing.
        """
        self._control.close()
        self._backlog.clear()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()

    def wait_gone(self, timeout_ms: float) -> bool:
        """Whether the launcher, and so everything below it, has ended by then."""
        return self._gone.wait(timeout_ms / 1000)
