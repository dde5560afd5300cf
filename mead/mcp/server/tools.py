"""The nine tools, over the public calls of Mead.  Source: seed A7, SPEC section 6."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mead.errors import MeadError
from mead.mcp.server import outputs
from mead.mcp.server.calls import RECENT_DEFAULT, SESSIONS_DEFAULT, TURNS_DEFAULT, Calls
from mead.mcp.server.failures import tool_fault
from mead.mcp.server.inputs import Argument, Inputs, text, whole
from mead.mcp.server.outputs import Shape
from mead.mcp.server.tool import ServerTool, ToolResult, Watch, structured
from mead.protocols import SessionAPI

INSTRUCTIONS: Final = (
    "Mead holds conversations with language models. start_session gives a session_id; submit_turn"
    " sends a prompt and waits for the answer; history shows what was said. A conversation lives"
    " until stop_session, and a stored one can be resumed; delete_session removes it for good."
)

MAXIMUM_INPUT_CHARACTERS: Final = 100_000
MAXIMUM_TURN_TIMEOUT_MS: Final = 3_600_000
"""Both as the public API has them (seed A7)."""

SESSIONS_MAXIMUM: Final = 200
TURNS_MAXIMUM: Final = 100
RECENT_MAXIMUM: Final = 100

_READS: Final = {"readOnlyHint": True, "openWorldHint": False}
_STARTS: Final = {
    "readOnlyHint": False,
    "destructiveHint": False,
    "idempotentHint": False,
    "openWorldHint": False,
}
_TENDS: Final = {**_STARTS, "idempotentHint": True}
_DELETES: Final = {**_TENDS, "destructiveHint": True}
_ASKS: Final = {**_STARTS, "openWorldHint": True}

_SESSION_ID: Final = text("The id that start_session gave.", required=True)


def session_tools(
    api: SessionAPI, *, handlers: Sequence[str], allow_effect: bool
) -> tuple[ServerTool, ...]:
    """The tools over `api`, a harmless one first.

    `handlers`: the names of turn handlers that a session may be started with.
    """
    calls = Calls(api, allow_effect=allow_effect)
    starting = {
        "handler": text("Who answers the turns; left out: the operator's choice.", one_of=handlers),
        "turn_timeout_ms": whole(
            "How long one turn may take, in milliseconds; left out: the operator's choice.",
            1,
            MAXIMUM_TURN_TIMEOUT_MS,
        ),
    }
    return (
        _tool(
            "list_sessions",
            "List conversations",
            "Stored conversations, newest first, and whether each is running.",
            calls.list_sessions,
            takes={
                "limit": whole(f"How many; {SESSIONS_DEFAULT} if left out.", 1, SESSIONS_MAXIMUM),
                "cursor": text("The next_cursor of an earlier page."),
            },
            gives=outputs.SESSIONS,
            hints=_READS,
        ),
        _tool(
            "start_session",
            "Start a conversation",
            "Starts a conversation and gives its session_id, which the other tools take.",
            calls.start_session,
            takes=starting,
            gives=outputs.SESSION,
            hints=_STARTS,
        ),
        _tool(
            "submit_turn",
            "Ask",
            "Sends a prompt to a running conversation and waits for the answer. Turns of one"
            " conversation run one after another.",
            calls.submit_turn,
            takes={
                "session_id": _SESSION_ID,
                "input": text("The prompt.", required=True, length=(1, MAXIMUM_INPUT_CHARACTERS)),
                "route": text(
                    "Which model answers; left out: the operator's choice.",
                    one_of=("auto", "local", "cloud"),
                ),
                "tools": text(
                    "Also lets the model use tools that change things; only where the operator"
                    " allows it.",
                    one_of=("effect",),
                ),
            },
            gives=outputs.SUBMITTED,
            hints=_ASKS,
            shows_progress=True,
        ),
        _tool(
            "history",
            "Read a conversation",
            "The turns of a conversation, running or stored: the newest, or those before a turn.",
            calls.history,
            takes={
                "session_id": _SESSION_ID,
                "limit": whole(f"How many; {TURNS_DEFAULT} if left out.", 1, TURNS_MAXIMUM),
                "before": text("The id of a turn; only older ones are shown."),
            },
            gives=outputs.HISTORY,
            hints=_READS,
        ),
        _tool(
            "stop_session",
            "Stop a conversation",
            "Stops a running conversation. If it is stored, resume_session brings it back.",
            calls.stop_session,
            takes={"session_id": _SESSION_ID},
            gives=outputs.STOPPED,
            hints=_TENDS,
        ),
        _tool(
            "resume_session",
            "Resume a conversation",
            "Starts a stored conversation again, with its turns.",
            calls.resume_session,
            takes={"session_id": _SESSION_ID, **starting},
            gives=outputs.SESSION,
            hints=_TENDS,
        ),
        _tool(
            "delete_session",
            "Delete a conversation",
            "Stops a conversation and removes it from disk, for good.",
            calls.delete_session,
            takes={"session_id": _SESSION_ID},
            gives=outputs.DELETED,
            hints=_DELETES,
        ),
        _tool(
            "compact_session",
            "Compact a conversation",
            "Rewrites a stored conversation so that it takes less room on disk.",
            calls.compact_session,
            takes={"session_id": _SESSION_ID},
            gives=outputs.COMPACTED,
            hints=_TENDS,
        ),
        _tool(
            "usage",
            "Show usage",
            "Tokens spent: in all, per route and model, per day and by the latest turns, or by one"
            " session.",
            calls.usage,
            takes={
                "recent": whole(
                    f"How many of the latest turns; {RECENT_DEFAULT} if left out.",
                    0,
                    RECENT_MAXIMUM,
                ),
                "session_id": text("Only the totals of this session."),
            },
            gives=outputs.USAGE,
            hints=_READS,
        ),
    )


_Run = Callable[[Mapping[str, Any], Watch | None], Mapping[str, Any]]


def _tool(
    name: str,
    title: str,
    description: str,
    run: _Run,
    *,
    takes: Mapping[str, Argument],
    gives: Shape,
    hints: Mapping[str, bool],
    shows_progress: bool = False,
) -> ServerTool:
    inputs = Inputs(takes)

    def checked(arguments: Mapping[str, Any], watch: Watch | None) -> ToolResult:
        try:
            return structured(run(inputs.check(arguments), watch))
        except MeadError as error:
            raise tool_fault(error) from None

    return ServerTool(
        name=name,
        title=title,
        description=description,
        input_schema=inputs.json_schema(),
        output_schema=gives,
        annotations=hints,
        run=checked,
        shows_progress=shows_progress,
    )
