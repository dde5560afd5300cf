"""The revisions that the server face speaks, and the two eras they belong to.

A legacy revision is agreed on once, with `initialize`; its errors travel as HTTP 200.  A modern one
has no handshake: every request carries its revision, every result says what it is, and the HTTP
status tells the fault.  Source: SPEC section 6, MCP.md section 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from types import MappingProxyType
from typing import Any, Final

from mead.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
)

LEGACY: Final = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = ("2026-07-28",)
"""Both oldest first."""

META: Final = "_meta"
PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"

LIST_LIFETIME_MS: Final = 300_000
"""How long a client may keep the tool list and the discovery.  Both change only with a restart."""


@dataclass(frozen=True, slots=True)
class Era:
    """How answers look: what every result carries, and with which status an error travels."""

    name: str
    stamp: Mapping[str, Any]
    """Fields of every result."""
    list_stamp: Mapping[str, Any]
    """Further fields of results that a client may keep."""
    statuses: Mapping[int, int]
    """HTTP status by error code; any other error is a 200."""

    def status(self, code: int) -> int:
        """The HTTP status of an error."""
        return self.statuses.get(code, 200)


def server_info() -> Mapping[str, Any]:
    """Who answers."""
    try:
        version = metadata.version("mead")
    except metadata.PackageNotFoundError:  # run from a checkout
        version = "0"
    return MappingProxyType({"name": "mead", "title": "Mead", "version": version})


LEGACY_ERA: Final = Era(
    name="legacy",
    stamp=MappingProxyType({}),
    list_stamp=MappingProxyType({}),
    statuses=MappingProxyType({INTERNAL_ERROR: 500}),
)

MODERN_ERA: Final = Era(
    name="modern",
    stamp=MappingProxyType(
        {"resultType": "complete", META: {SERVER_INFO_KEY: dict(server_info())}}
    ),
    list_stamp=MappingProxyType({"ttlMs": LIST_LIFETIME_MS, "cacheScope": "private"}),
    statuses=MappingProxyType({INTERNAL_ERROR: 500, INVALID_PARAMS: 400, METHOD_NOT_FOUND: 404}),
)
