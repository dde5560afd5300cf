"""The calls of `Mead`, made through the control socket of the process that runs it."""

import contextlib
import socket
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from mead.control import wire
from mead.control.lines import LineReader, socket_address
from mead.errors import InvalidInput, MeadError, PersistenceError
from mead.export import ExportFormat
from mead.protocols import Interaction, Listener, RepairReport, StoredSession, ToolUse, TurnReceipt
from mead.turn import Turn, TurnFacts

CONNECT_TIMEOUT_S: Final = 5.0

WENT_AWAY: Final = "the running Mead went away before it answered; look at its log, then try again"

CALL_TIMEOUT_S: Final = 600.0
"""For calls other than a turn: a compaction of a very long conversation on a slow disk."""


class ControlClient:
    """A SessionAPI whose calls run in another process.

    Each call raises what it would raise there.  Blocks on: that process.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @classmethod
    def find(cls, directory: Path, timeout_s: float = CONNECT_TIMEOUT_S) -> "ControlClient | None":
        """A client if a process answers on the control socket of `directory`, else None."""
        client = cls(directory)
        try:
            client._call("status", {}, timeout_s)
        except MeadError:
            return None
        return client

    def call(self, name: str, **arguments: Any) -> Any:
        """Make one call and return its result as JSON values."""
        return self._call(name, arguments, CALL_TIMEOUT_S)

    def _call(self, name: str, arguments: dict[str, Any], timeout_s: float) -> Any:
        with contextlib.closing(self._connect()) as connection:
            connection.settimeout(timeout_s)
            _send(connection, {"call": name, "arguments": arguments})
            return _result(_read(LineReader(connection)))

    def status(self) -> dict[str, Any]:
        """See Mead.status."""
        return self.call("status")

    def listener(self) -> Listener | None:
        """Where the running Mead listens; None if it does not, or is too old to say."""
        try:
            found = self.call("listener")
        except InvalidInput:
            return None
        return None if found is None else Listener(**found)

    def start_session(
        self, *, handler: str | None = None, turn_timeout_ms: int | None = None
    ) -> str:
        """See Mead.start_session."""
        return self.call("start_session", handler=handler, turn_timeout_ms=turn_timeout_ms)

    def submit(
        self,
        session_id: str,
        text: str,
        *,
        route: str | None = None,
        tools: str | None = None,
        interaction: Interaction | None = None,
        turn_id: str | None = None,
    ) -> TurnReceipt:
        """See Mead.submit.  A caller that goes away does not end its turn: cancel_turn does."""
        arguments = {
            "session_id": session_id,
            "text": text,
            "route": route,
            "tools": tools,
            "turn_id": turn_id,
            "interactive": interaction is not None,
        }
        with contextlib.closing(self._connect()) as connection:
            connection.settimeout(None)  # a turn's own deadline ends the wait
            _send(connection, {"call": "submit", "arguments": arguments})
            shape = _converse(connection, interaction)
        return TurnReceipt(output=shape["output"], turn=Turn.decode(shape["turn"]))

    def cancel_turn(self, session_id: str, turn_id: str | None = None) -> None:
        """See Mead.cancel_turn."""
        self.call("cancel_turn", session_id=session_id, turn_id=turn_id)

    def history(self, session_id: str) -> list[Turn]:
        """See Mead.history."""
        return [Turn.decode(shape) for shape in self.call("history", session_id=session_id)]

    def stop_session(self, session_id: str) -> None:
        """See Mead.stop_session."""
        self.call("stop_session", session_id=session_id)

    def resume_session(
        self, session_id: str, *, handler: str | None = None, turn_timeout_ms: int | None = None
    ) -> str:
        """See Mead.resume_session."""
        return self.call(
            "resume_session",
            session_id=session_id,
            handler=handler,
            turn_timeout_ms=turn_timeout_ms,
        )

    def delete_session(self, session_id: str) -> None:
        """See Mead.delete_session."""
        self.call("delete_session", session_id=session_id)

    def list_sessions(self) -> list[StoredSession]:
        """See Mead.list_sessions."""
        return [
            StoredSession(
                session_id=row["session_id"],
                updated_at=datetime.fromisoformat(row["updated_at"]),
                running=row["running"],
                title=row.get("title"),
            )
            for row in self.call("list_sessions")
        ]

    def set_title(self, session_id: str, title: str) -> str:
        """See Mead.set_title."""
        return self.call("set_title", session_id=session_id, title=title)

    def compact_session(self, session_id: str) -> tuple[int, int]:
        """See Mead.compact_session."""
        before, after = self.call("compact_session", session_id=session_id)
        return before, after

    def export_session(self, session_id: str, format_: ExportFormat = "jsonl") -> str:
        """See Mead.export_session."""
        return self.call("export_session", session_id=session_id, format_=format_)

    def repair_session(self, session_id: str) -> RepairReport:
        """See Mead.repair_session."""
        return RepairReport(**self.call("repair_session", session_id=session_id))

    def usage(self, *, recent: int = 20) -> dict[str, Any]:
        """See Mead.usage."""
        return self.call("usage", recent=recent)

    def session_usage(self, session_id: str) -> dict[str, Any]:
        """See Mead.session_usage."""
        return self.call("session_usage", session_id=session_id)

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(CONNECT_TIMEOUT_S)
            with socket_address(self._directory) as address:
                connection.connect(address)
        except OSError:
            connection.close()
            raise PersistenceError(WENT_AWAY) from None
        except BaseException:
            connection.close()
            raise
        return connection


def _send(connection: socket.socket, message: object) -> None:
    try:
        connection.sendall(wire.encode(message))
    except OSError:
        raise PersistenceError(WENT_AWAY) from None


def _read(reader: LineReader) -> dict[str, Any]:
    try:
        line = reader.read()
        if line is not None:
            return wire.decode(line)
    except (OSError, ValueError):
        pass
    raise PersistenceError(WENT_AWAY)


def _result(message: dict[str, Any]) -> Any:
    if "error" in message:
        raise wire.error_from(message["error"])
    return message.get("result")


def _converse(connection: socket.socket, interaction: Interaction | None) -> Any:
    reader = LineReader(connection)
    while "event" in (message := _read(reader)):
        if interaction is not None:
            answer = _shown(message, interaction)
            if "key" in message:
                _send(connection, {"key": message["key"], "answer": answer})
    return _result(message)


def _shown(message: dict[str, Any], interaction: Interaction) -> object:
    match message["event"]:
        case "routed":
            interaction.routed(TurnFacts.decode(message["facts"]))
        case "text_delta":
            interaction.text_delta(message["text"])
        case "authorize":
            return interaction.authorize(ToolUse(**message["use"]), lambda: None)
        case "call_finished":
            interaction.call_finished(message["call_id"], message["status"], message["summary"])
        case "choose":
            return interaction.choose(message["prompt"], tuple(message["options"]))
        case event:
            raise MeadError(f"the running Mead sent an unknown event {event!r}; update this one")
    return None
