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

MAXIMUM_BATCH: Final = 100
"""All of a batch is taken in before anyone else has a turn."""
_WITH_BATCHES: Final = LEGACY[:2]

META: Final = "_meta"
_PREFIX: Final = "io.modelcontextprotocol/"


def is_modern(version: str) -> bool:
    """Whether the revision has no handshake."""
    return version in MODERN


def batch_limit(version: str | None) -> int:
    """How many messages may come in one array; 0: none; None: nothing is agreed on yet."""
    return MAXIMUM_BATCH if version is None or version in _WITH_BATCHES else 0


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
