"""The revisions that the hub speaks, and how each request of the modern era names its own.

Legacy revisions agree once, with `initialize`; modern ones (2026-07-28 on) have no handshake, and
every request carries its revision.
"""

from collections.abc import Mapping
from importlib import metadata
from types import MappingProxyType
from typing import Any, Final

LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = ("2026-07-28",)
"""Both oldest first."""

META: Final = "_meta"
_PREFIX: Final = "io.modelcontextprotocol/"


def is_modern(version: str) -> bool:
    """Whether the revision has no handshake."""
    return version in MODERN


def client_info() -> Mapping[str, Any]:
    """Who asks."""
    try:
        version = metadata.version("mead")
    except metadata.PackageNotFoundError:  # run from a checkout
        version = "0"
    return MappingProxyType({"name": "mead", "version": version})


def client_meta(version: str) -> Mapping[str, Any]:
    """The `_meta` of every request under a modern revision."""
    return {
        f"{_PREFIX}protocolVersion": version,
        f"{_PREFIX}clientInfo": dict(client_info()),
        f"{_PREFIX}clientCapabilities": {},
    }
