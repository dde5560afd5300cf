"""What a request says about itself beside its method: its revision, in headers and in `_meta`.

The revision decides the era (MCP.md 2.2); a modern request must then agree with its headers, which
gateways read instead of the body (MCP.md 2.4).  Pure.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mead.mcp.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    Error,
    Request,
    object_or_empty,
)
from mead.mcp.server.revisions import (
    CLIENT_CAPABILITIES_KEY,
    LEGACY,
    LEGACY_ERA,
    META,
    MODERN,
    MODERN_ERA,
    PROTOCOL_VERSION_KEY,
    Era,
)

SHOWN_CHARACTERS: Final = 64
"""How much of a client's own text an error repeats."""

_BASE64_START: Final = "=?base64?"
_BASE64_END: Final = "?="


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A POST as the guards let it through: the body, and the headers that MCP gives a meaning."""

    body: bytes
    version: str | None = None
    """MCP-Protocol-Version"""
    method: str | None = None
    """Mcp-Method"""
    name: str | None = None
    """Mcp-Name"""
    takes_events: bool = False
    """Whether Accept names text/event-stream."""


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, error: Error) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


def check_version(incoming: Incoming) -> None:
    """Refuse a message, of whatever kind, whose header names a revision that nobody serves."""
    if incoming.version is not None and incoming.version not in (*LEGACY, *MODERN):
        raise _unsupported(incoming.version)


def era_of(request: Request, incoming: Incoming) -> Era:
    """The era whose rules the request keeps.  Raises Refused when it keeps neither's."""
    meta = object_or_empty(object_or_empty(request.params).get(META))
    if PROTOCOL_VERSION_KEY not in meta:
        check_version(incoming)
        if incoming.version not in MODERN:
            return LEGACY_ERA
    _check_meta(meta)
    _check_headers(request, meta[PROTOCOL_VERSION_KEY], incoming)
    if meta[PROTOCOL_VERSION_KEY] not in MODERN:
        raise _unsupported(meta[PROTOCOL_VERSION_KEY])
    return MODERN_ERA


def check_capabilities(request: Request, needed: Sequence[str]) -> None:
    """Refuse a modern request whose client has not declared what is needed of it."""
    meta = object_or_empty(object_or_empty(request.params).get(META))
    declared = object_or_empty(meta.get(CLIENT_CAPABILITIES_KEY))
    missing: dict[str, Any] = {name: {} for name in needed if name not in declared}
    if missing:
        message = "the client has not declared a capability that this needs"
        data = {"requiredCapabilities": missing}
        raise Refused(400, Error(MISSING_CLIENT_CAPABILITY, message, data))


def _check_meta(meta: Mapping[str, Any]) -> None:
    if not isinstance(meta.get(PROTOCOL_VERSION_KEY), str):
        raise _bad_meta(f"{PROTOCOL_VERSION_KEY}, a string")
    if not isinstance(meta.get(CLIENT_CAPABILITIES_KEY), dict):
        raise _bad_meta(f"{CLIENT_CAPABILITIES_KEY}, an object")


def _check_headers(request: Request, version: str, incoming: Incoming) -> None:
    if incoming.version != version:
        raise _mismatch("MCP-Protocol-Version", "the revision in _meta")
    if incoming.method != request.method:
        raise _mismatch("Mcp-Method", "the method")
    if request.method == "tools/call":
        name = object_or_empty(request.params).get("name")
        if name is not None and decoded(incoming.name) != name:
            raise _mismatch("Mcp-Name", "params.name")


def decoded(value: str | None) -> str | None:
    """A header's value with its base64 wrapping undone; None when that is broken."""
    if value is None or not (value.startswith(_BASE64_START) and value.endswith(_BASE64_END)):
        return value
    wrapped = value[len(_BASE64_START) : -len(_BASE64_END)]
    try:
        return base64.b64decode(wrapped, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _unsupported(requested: str) -> Refused:
    data = {"supported": list(MODERN), "requested": requested[:SHOWN_CHARACTERS]}
    message = "this revision of the protocol is not served"
    return Refused(400, Error(UNSUPPORTED_PROTOCOL_VERSION, message, data))


def _mismatch(header: str, what: str) -> Refused:
    message = f"the header {header} must be there and equal {what}"
    return Refused(400, Error(HEADER_MISMATCH, message))


def _bad_meta(what: str) -> Refused:
    return Refused(400, Error(INVALID_PARAMS, f"params._meta must hold {what}"))
