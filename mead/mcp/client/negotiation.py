"""Finding out which revision a server speaks, and reading its list of tools.

    probe: server/discover --- a modern revision in common ---> modern, nothing more to say
                           --- any other answer, 4xx ---------> initialize (legacy)
                           --- only foreign modern ones ------> incompatible
    stdio alone:           --- silence -----------------------> initialize, same process

Never keyed on one error code: what legacy servers answer to the probe differs from maker to maker.
A network error, a 5xx, 401 or 403 is no verdict; it fails the attempt.  Source: SPEC section 7.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mead.mcp.client.faults import RemoteError, ServerFault
from mead.mcp.client.offers import Offer, read_page
from mead.mcp.client.peer import Peer
from mead.mcp.client.versions import LEGACY, MODERN, client_info
from mead.mcp.jsonrpc import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, object_or_empty

log = logging.getLogger(__name__)

MAXIMUM_PAGES: Final = 100
MAXIMUM_TOOLS: Final = 2000
"""Of one server; what lies beyond is not looked at."""

_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a handshake found out."""

    version: str
    server: str
    """Its name and version, as it says."""
    announces_changes: bool
    """Whether it promises to tell when its tool list changes."""


class ProbeKilled(ServerFault):
    """The connection ended while the server was being probed: perhaps the probe was to blame."""


def negotiate(
    peer: Peer, *, timeout_ms: float, probe: bool = True, silence_is_legacy: bool
) -> Agreement:
    """Agree on a revision.  Raises ServerFault.  Blocks on: the server, `timeout_ms` a step."""
    version = MODERN[-1]
    for last in (False, True):
        if probe:
            found = _probe(peer, version, timeout_ms, silence_is_legacy)
            if isinstance(found, Agreement):
                return found
            if found is not None and not last:
                version = found
                continue
        try:
            return _initialize(peer, timeout_ms)
        except RemoteError as error:
            common = _common_modern(error)
            if common is None or last:
                raise
            version, probe = common, True
    raise AssertionError("the second pass returns or raises")


def _probe(
    peer: Peer, version: str, timeout_ms: float, silence_is_legacy: bool
) -> Agreement | str | None:
    """An agreement; or the modern revision to probe with again; or None for a legacy server."""
    peer.agree(version)
    try:
        result = peer.request("server/discover", timeout_ms=timeout_ms)
    except RemoteError as error:
        return _common_modern(error)
    except ServerFault as fault:
        if fault.code == "rejected" or (fault.code == "timeout" and silence_is_legacy):
            return None
        if fault.code == "connection_lost" and silence_is_legacy:
            raise ProbeKilled(fault.code, fault.sentence) from None
        raise
    common = [one for one in MODERN if one in _texts(result.get("supportedVersions"))]
    if not common:
        return None
    peer.agree(common[-1])
    return _agreement(common[-1], result, _meta_server(result))


def _common_modern(error: RemoteError) -> str | None:
    """A modern revision that the server names; None for a legacy one.  Raises ServerFault."""
    if error.rpc_code != UNSUPPORTED_PROTOCOL_VERSION:
        return None
    supported = _texts(object_or_empty(error.data).get("supported"))
    for version in reversed(MODERN):
        if version in supported:
            return version
    if supported and not any(version in LEGACY for version in supported):
        raise ServerFault("incompatible", "the server speaks only revisions that Mead does not")
    return None


def _initialize(peer: Peer, timeout_ms: float) -> Agreement:
    peer.agree(None)
    params = {
        "protocolVersion": LEGACY[-1],
        "capabilities": {},
        "clientInfo": dict(client_info()),
    }
    result = peer.request("initialize", params, timeout_ms=timeout_ms)
    version = result.get("protocolVersion")
    if version not in LEGACY:
        raise ServerFault("incompatible", "the server chose a revision that Mead does not know")
    peer.agree(version)
    peer.notify("notifications/initialized")
    return _agreement(version, result, object_or_empty(result.get("serverInfo")))


def _agreement(version: str, result: Mapping[str, Any], server: Mapping[str, Any]) -> Agreement:
    tools = object_or_empty(object_or_empty(result.get("capabilities")).get("tools"))
    shown = " ".join(str(server[key]) for key in ("name", "version") if key in server)
    return Agreement(
        version=version,
        server=_printable(shown),
        announces_changes=tools.get("listChanged") is True,
    )


def _meta_server(result: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = object_or_empty(result.get("_meta"))
    return object_or_empty(meta.get("io.modelcontextprotocol/serverInfo"))


def _texts(value: object) -> list[str]:
    values = cast("list[object]", value) if isinstance(value, list) else []
    return [one for one in values if isinstance(one, str)]


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:_SHOWN_CHARACTERS]


# -- the tool list ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The tools of a server, and for how long that list may be taken as current."""

    offers: Mapping[str, Offer]
    fresh_ms: float | None = None
    """None when the server did not say."""


def list_tools(peer: Peer, *, timeout_ms: float, over_http: bool) -> Listing:
    """Every page of the tool list, bounded.

    A server that has no such method has no tools.  Raises ServerFault.
    Blocks on: the server, `timeout_ms` a page.
    """
    offers: dict[str, Offer] = {}
    mirrors = over_http and peer.version in MODERN
    seen: set[str] = set()
    params: Mapping[str, Any] | None = None
    fresh: list[float] = []
    while True:
        try:
            result = peer.request("tools/list", params, timeout_ms=timeout_ms)
        except RemoteError as error:
            if error.rpc_code != METHOD_NOT_FOUND or seen:
                raise
            return Listing(offers={})
        offers.update(read_page(result, mirrors=mirrors))
        fresh += _fresh_ms(result)
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            break
        if cursor in seen or len(seen) >= MAXIMUM_PAGES or len(offers) >= MAXIMUM_TOOLS:
            log.warning("the tool list of %s does not end; the rest is ignored", peer.name)
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    return Listing(offers=offers, fresh_ms=min(fresh, default=None))


def _fresh_ms(result: Mapping[str, Any]) -> list[float]:
    value = result.get("ttlMs")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return [max(0.0, float(value))]
