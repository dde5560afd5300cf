"""Tools: what a model may be shown, and the hub that runs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mead.turn import ToolLevel

ToolClass = Literal["read", "effect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may be shown."""

    name: str
    """`server__tool`; a built-in tool has no `__`."""
    server: str
    tool: str
    kind: ToolClass
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments, an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a model is told about a call."""

    text: str
    is_error: bool = False


class ToolHub(Protocol):
    """The tools of the configured MCP servers, under the operator's policy.  Source: seed A6.

    Called from turn tasks and tool tasks; being killed inside `call_tool` cancels the call.
    """

    def tools_for(self, level: ToolLevel | None) -> tuple[Tool, ...]:
        """The tools that a turn with this `tools` option may see, in a stable order."""
        ...

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], level: ToolLevel | None
    ) -> ToolOutcome:
        """Run it.  Never raises for a denied, unknown or failed call: that is an error outcome.

        Blocks on: the tool server, bounded by the server's `call_timeout_ms`.
        """
        ...
