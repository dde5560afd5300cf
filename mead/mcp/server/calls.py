"""What each tool does: one call of the public API, and its answer as a JSON object."""

from collections.abc import Mapping
from typing import Any, Final

from mead.errors import SessionNotFound
from mead.mcp.server.pages import history_page, session_page, submitted, usage_page
from mead.mcp.server.tool import ToolFault, Watch
from mead.protocols import SessionAPI

SESSIONS_DEFAULT: Final = 50
TURNS_DEFAULT: Final = 20
RECENT_DEFAULT: Final = 20
"""As the public API has it."""

DAYS: Final = 31

NO_EFFECT: Final = (
    'invalid_input: tools: "effect" is not allowed on this server; nothing was run. Leave it out,'
    " or have the operator set mcp_server.allow_effect"
)


class Calls:
    """The work of each tool, with arguments that were checked.  Raises MeadError and ToolFault."""

    def __init__(self, api: SessionAPI, *, allow_effect: bool) -> None:
        self._api = api
        self._allow_effect = allow_effect

    def list_sessions(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        limit = arguments.get("limit", SESSIONS_DEFAULT)
        return session_page(self._api.list_sessions(), limit, arguments.get("cursor"))

    def start_session(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        return {"session_id": self._api.start_session(**arguments)}

    def submit_turn(self, arguments: Mapping[str, Any], watch: Watch | None) -> Mapping[str, Any]:
        if "tools" in arguments and not self._allow_effect:
            raise ToolFault(NO_EFFECT)
        receipt = self._api.submit(
            arguments["session_id"],
            arguments["input"],
            route=arguments.get("route"),
            tools=arguments.get("tools"),
            on_text=watch,
            origin="mcp",
        )
        return submitted(receipt)

    def history(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        limit = arguments.get("limit", TURNS_DEFAULT)
        turns = self._api.history(arguments["session_id"])
        return history_page(turns, limit, arguments.get("before"))

    def stop_session(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        self._api.stop_session(arguments["session_id"])
        return {"session_id": arguments["session_id"], "stopped": True}

    def resume_session(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        return {"session_id": self._api.resume_session(**arguments)}

    def delete_session(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        self._api.delete_session(arguments["session_id"])
        return {"session_id": arguments["session_id"], "deleted": True}

    def compact_session(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        before, after = self._api.compact_session(arguments["session_id"])
        return {"bytes_before": before, "bytes_after": after}

    def usage(self, arguments: Mapping[str, Any], _: Watch | None) -> Mapping[str, Any]:
        session_id = arguments.get("session_id")
        if session_id is None:
            return usage_page(self._api.usage(recent=arguments.get("recent", RECENT_DEFAULT)), DAYS)
        try:
            totals = dict(self._api.session_usage(session_id))
        except SessionNotFound:
            raise ToolFault("not_found: nothing was counted for that session") from None
        return {"session_id": totals.pop("session_id", session_id), "totals": totals}
