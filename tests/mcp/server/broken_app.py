"""The real application with a tool that raises.  `tests.mcp.server.broken_app:app`."""

from collections.abc import Mapping
from typing import Any

from mead.mcp.server.tool import ServerTool, ToolResult, Watch
from tests.helpers.mcp_fuzz import BROKEN_TOOL
from tests.helpers.server import DECK_TOKEN
from wsgi import create_app


def break_off(arguments: Mapping[str, Any], watch: Watch | None) -> ToolResult:
    raise RuntimeError(f"Authorization: Bearer {DECK_TOKEN}")


app = create_app(
    more_tools=[
        ServerTool(
            name=BROKEN_TOOL,
            title="Broken",
            description="Raises what holds a secret.",
            input_schema={"type": "object"},
            run=break_off,
            shows_progress=True,
        )
    ]
)
