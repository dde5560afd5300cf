"""Serves the control socket, in the process that holds the storage directory."""

import contextlib
import logging
import os
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self, cast

from gevent.pool import Pool
from gevent.server import StreamServer

from mead.actors.exits import NORMAL, Lifetime, Outcome
from mead.actors.tasks import TaskSupervisor
from mead.control import wire
from mead.control.interaction import RemoteInteraction
from mead.control.lines import LineReader, socket_address
from mead.errors import InvalidInput, MeadError, PersistenceError
from mead.protocols import TurnReceipt

log = logging.getLogger(__name__)

MAXIMUM_CONNECTIONS: Final = 64
"""Commands of one user on one machine; far above what a person or a script has open."""

REQUEST_TIMEOUT_S: Final = 5.0
"""A command sends its call at once; a connection that says nothing must not keep others out."""

Call = Callable[..., Any]


class ControlServer(Lifetime):
    """Accepts commands of the same user and makes their calls."""

    def __init__(self, directory: Path, calls: Mapping[str, Call]) -> None:
        super().__init__()
        self._directory = directory
        self._calls = calls
        self._turns = TaskSupervisor("control turns")
        self._server: StreamServer | None = None
        self._connections = Pool(MAXIMUM_CONNECTIONS)

    def start(self) -> Self:
        """Bind the socket (0600) and accept.  Raises PersistenceError."""
        try:
            listener = self._listener()
        except OSError as error:
            name = wire.SOCKET_NAME
            raise PersistenceError(
                f"{name} in the storage directory cannot be made: {error.strerror}; remove what is"
                " there, or see that this process may write"
            ) from None
        self._server = StreamServer(listener, self._serve, spawn=self._connections)
        self._server.start()
        return self

    def _listener(self) -> socket.socket:
        (self._directory / wire.SOCKET_NAME).unlink(missing_ok=True)  # left by a killed process
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        previous = os.umask(0o177)
        try:
            with socket_address(self._directory) as address:
                listener.bind(address)
        except OSError:
            listener.close()
            raise
        finally:
            os.umask(previous)
        listener.listen(MAXIMUM_CONNECTIONS)
        listener.setblocking(False)
        return listener

    def finish(self, timeout_ms: float) -> None:
        """Take no more calls, and wait until those under way have been answered."""
        if self._server is not None:
            self._server.stop_accepting()
            self._connections.join(timeout_ms / 1000)

    def stop(self, timeout_ms: float = 1000) -> None:
        """Close the socket and every connection."""
        if self._server is not None:
            self._server.stop(timeout_ms / 1000)
            self._server = None
            (self._directory / wire.SOCKET_NAME).unlink(missing_ok=True)
        self._turns.stop()
        self._finish(NORMAL)

    def _serve(self, connection: socket.socket, _: object) -> None:
        try:
            if _peer_uid(connection) == os.getuid():
                _Conversation(connection, self._calls, self._turns).run()
        except (OSError, ValueError) as error:
            log.debug("a control connection ended: %s", type(error).__name__)
        finally:
            connection.close()


class _Conversation:
    """One connection: one call and its answer."""

    def __init__(
        self, connection: socket.socket, calls: Mapping[str, Call], turns: TaskSupervisor
    ) -> None:
        self._connection = connection
        self._reader = LineReader(connection)
        self._calls = calls
        self._turns = turns

    def run(self) -> None:
        self._connection.settimeout(REQUEST_TIMEOUT_S)
        line = self._reader.read()
        if line is None:
            return
        self._connection.settimeout(None)
        request = wire.decode(line)
        name, arguments = request.get("call"), request.get("arguments", {})
        if not isinstance(arguments, dict):
            raise ValueError("arguments are no object")
        if name == "submit":
            self._submit(cast("dict[str, Any]", arguments))
        else:
            self._send(_answer(lambda: self._call(name, cast("dict[str, Any]", arguments))))

    def _call(self, name: object, arguments: dict[str, Any]) -> Any:
        call = self._calls.get(str(name))
        if call is None:
            raise InvalidInput(f"the running Mead does not know the call {str(name)[:40]}")
        return call(**arguments)

    def _submit(self, arguments: dict[str, Any]) -> None:
        """Run the turn in a task, and listen meanwhile for what the person says.

        A client that goes away does not end its turn; what it was asked is then answered no.
        """
        interaction = RemoteInteraction(self._send)
        if arguments.pop("interactive", False):
            arguments["interaction"] = interaction

        def finish(outcome: Outcome[dict[str, Any]]) -> None:
            del outcome
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RD)  # ends the reader below

        def turn() -> dict[str, Any]:
            result = _answer(lambda: self._call("submit", arguments))
            with contextlib.suppress(OSError):
                self._send(result)
            return result

        self._turns.start(turn, name="control turn", on_end=finish)
        try:
            while (line := self._reader.read()) is not None:
                message = wire.decode(line)
                interaction.answered(message.get("key"), message.get("answer"))
        finally:
            interaction.abandon()

    def _send(self, message: object) -> None:
        self._connection.sendall(wire.encode(message))


def _answer(call: Callable[[], TurnReceipt | Any]) -> dict[str, Any]:
    try:
        return {"result": call()}
    except MeadError as error:
        return {"error": wire.error_shape(error)}
    except Exception as error:  # noqa: BLE001 - a bug here must not show its traceback to a client
        log.error("a control call failed: %s", type(error).__name__)
        return {"error": {"code": "error", "message": "something went wrong; see the server's log"}}


def _peer_uid(connection: socket.socket) -> int:
    """The user at the other end (the mode of the socket says the same; this is the second lock)."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getuid()
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", credentials)
    return uid
