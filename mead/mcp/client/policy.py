"""What a model may see and run: the operator's configuration, and nothing that a server says.

A tool that the configuration does not list does not exist.  Source: seed A6, Policy.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mead.config import ServerSettings
from mead.errors import ConfigurationError
from mead.protocols import ToolClass
from mead.turn import ToolLevel

_PROVIDER_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A tool that the configuration lists."""

    name: str
    """`server__tool`, as the model sees it."""
    server: str
    tool: str
    kind: ToolClass

    def visible(self, level: ToolLevel | None) -> bool:
        """Whether a turn with this `tools` option may see and run it."""
        return self.kind == "read" or level == "effect"


class Policy:
    """The grants of all servers."""

    def __init__(self, servers: Sequence[ServerSettings]) -> None:
        """Raises ConfigurationError for a tool that no model could be shown."""
        self.grants: Mapping[str, Grant] = {
            grant.name: grant for server in servers for grant in _grants(server)
        }
        """By `server__tool`, servers and tools in the order of the configuration."""
        unusable = [name for name in self.grants if _PROVIDER_NAME.fullmatch(name) is None]
        if unusable:
            raise ConfigurationError(
                [
                    f"mcp.servers: the tool name {name!r} has not 1 to 64 of A-Z a-z 0-9 _ -;"
                    " a provider could not take it"
                    for name in unusable
                ]
            )


def full_name(server: str, tool: str) -> str:
    """The name that a model sees."""
    return f"{server}__{tool}"


def _grants(server: ServerSettings) -> list[Grant]:
    return [
        Grant(name=full_name(server.name, tool), server=server.name, tool=tool, kind=kind)
        for tool, kind in server.tools.items()
    ]
