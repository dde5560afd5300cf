"""The public calls of Mead, as its faces use them."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

from mead.protocols.listener import Listener
from mead.protocols.storage import RepairReport, StoredSession
from mead.protocols.turns import Interaction
from mead.turn import Turn

Origin = Literal["deck", "mcp", "cli", "api"]
"""The door through which a turn came."""


class TurnReceipt(NamedTuple):
    """What `submit` gives back: the answer and the closed turn."""

    output: str
    turn: Turn


class SessionAPI(Protocol):
    """The public calls of `mead.api.Mead` that the MCP face, the deck and the commands use.

    Each raises the MeadError that its docstring there names.
    """

    def start_session(
        self, *, handler: str | None = None, turn_timeout_ms: int | None = None
    ) -> str: ...

    def submit(
        self,
        session_id: str,
        text: str,
        *,
        route: str | None = None,
        tools: str | None = None,
        interaction: Interaction | None = None,
        on_text: Callable[[str], None] | None = None,
        turn_id: str | None = None,
        origin: Origin = "api",
    ) -> TurnReceipt: ...

    def cancel_turn(self, session_id: str, turn_id: str | None = None) -> None: ...

    def history(self, session_id: str) -> list[Turn]: ...

    def stop_session(self, session_id: str) -> None: ...

    def resume_session(
        self, session_id: str, *, handler: str | None = None, turn_timeout_ms: int | None = None
    ) -> str: ...

    def delete_session(self, session_id: str) -> None: ...

    def list_sessions(self) -> list[StoredSession]: ...

    def compact_session(self, session_id: str) -> tuple[int, int]: ...

    def usage(self, *, recent: int = 20) -> dict[str, Any]: ...

    def session_usage(self, session_id: str) -> dict[str, Any]: ...


class DeckAccess(Protocol):
    """Who may come to the deck."""

    def new_code(self) -> str: ...

    def revoke(self) -> int: ...


class OperatorAPI(SessionAPI, Protocol):
    """The calls that only the operator's own commands make, beside those of SessionAPI."""

    def deck(self) -> DeckAccess: ...

    listener: Listener | None

    def status(self) -> dict[str, Any]: ...

    def set_title(self, session_id: str, title: str) -> str: ...

    def repair_session(self, session_id: str) -> RepairReport: ...

    def export_session(self, session_id: str, format_: Literal["jsonl", "markdown"]) -> str: ...
