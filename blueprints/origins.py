"""Who a request comes from and which host it was meant for.  Pure: header texts in, answers out.

A page that resolves its own name to this machine (DNS rebinding) has a Host that is not ours; a
page of another site has an Origin that is not.  What a proxy forwards is believed only when the
peer is one that the operator named.  Source: SPEC section 6.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from mead.config import McpServerSettings

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}

_HOST: Final = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[^/?#@\s]+)")


class Headers(Protocol):
    """The headers of a request; names in any case."""

    def get(self, key: str, /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Authority:
    """A host and its port; None where the text names none."""

    name: str
    port: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What may be believed about where a request comes from."""

    address: str
    """The client: the peer itself, or the last address before the trusted proxies."""
    host: str | None
    """The Host that the client sent."""
    scheme: str | None
    """`http` or `https` where that is known: TLS is our own, or a trusted proxy says so."""


def parse_authority(text: str | None) -> Authority | None:
    """`host`, `host:port` or `[address]:port` in any case; None for anything else."""
    match = _HOST.fullmatch(text.lower()) if text is not None else None
    if match is None:
        return None
    port = match["port"]
    name = match["name"].strip("[]").removesuffix(".")
    return Authority(name, None if port is None else int(port))


def parse_address(text: str) -> IPAddress | None:
    """An IP address; IPv4 inside IPv6 is the IPv4 address.

    Behind the % of a link-local one Python takes anything, and addresses are logged.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if not text.isprintable():
        return None
    return getattr(address, "ipv4_mapped", None) or address


class Origins:
    """The rules for Host, Origin and X-Forwarded-* of one listener."""

    def __init__(self, server: McpServerSettings) -> None:
        self._bound = server.address
        bound = parse_address(server.address)
        self._loopback = bound is not None and bound.is_loopback
        self._tls = server.certfile is not None
        self._hosts = [_configured_host(text) for text in server.allowed_hosts]
        self._origins = {_parse_origin(text) for text in server.allowed_origins} - {None}
        self._proxies = [ipaddress.ip_network(text) for text in server.trusted_proxies]

    def sender(self, peer: str, headers: Headers) -> Sender:
        """What may be believed about who sent this.  `peer` is the address of the connection."""
        if not self._trusts(peer):
            return Sender(
                address=peer, host=headers.get("Host"), scheme="https" if self._tls else None
            )
        scheme = _last(headers.get("X-Forwarded-Proto"))
        return Sender(
            address=self._client(peer, headers.get("X-Forwarded-For") or ""),
            host=_last(headers.get("X-Forwarded-Host")) or headers.get("Host"),
            scheme=scheme.lower() if scheme else ("https" if self._tls else None),
        )

    def host_is_allowed(self, sender: Sender) -> bool:
        """Whether the request was meant for this server."""
        host = parse_authority(sender.host)
        if not self._loopback and not self._hosts:
            return True
        if host is None:
            return False
        if self._loopback and (_is_loopback(host.name) or host.name == self._bound):
            return True
        ports = (host.port,) if host.port is not None else _default_ports(sender.scheme)
        return any(one.name == host.name and one.port in (None, *ports) for one in self._hosts)

    def origin_is_allowed(self, origin: str | None, sender: Sender) -> bool:
        """Whether a page of that origin may ask: absent, listed, or this server's own."""
        if origin is None:
            return True
        parsed = _parse_origin(origin)
        if parsed is None:
            return False
        if parsed in self._origins:
            return True
        scheme, name, port = parsed
        host = parse_authority(sender.host)
        if host is None or sender.scheme not in (None, scheme):
            return False
        return (host.name, host.port or DEFAULT_PORTS.get(scheme)) == (name, port)

    def _trusts(self, address: str) -> bool:
        parsed = parse_address(address)
        return parsed is not None and any(parsed in network for network in self._proxies)

    def _client(self, peer: str, forwarded_for: str) -> str:
        """The nearest address that is no trusted proxy: what stands before it anyone may write."""
        client = peer
        for text in reversed(forwarded_for.split(",")):
            address = text.strip()
            if parse_address(address) is None:
                break
            client = address
            if not self._trusts(address):
                break
        return client


def _configured_host(text: str) -> Authority:
    """An entry of `allowed_hosts`; a bare IPv6 address needs no brackets there."""
    return parse_authority(text) or Authority(text.lower(), None)


def _parse_origin(text: str) -> tuple[str, str, int | None] | None:
    match = _ORIGIN.fullmatch(text.lower())
    host = parse_authority(match["host"]) if match is not None else None
    if match is None or host is None:
        return None
    return match["scheme"], host.name, host.port or DEFAULT_PORTS.get(match["scheme"])


def _is_loopback(name: str) -> bool:
    address = parse_address(name)
    return name == "localhost" if address is None else address.is_loopback


def _default_ports(scheme: str | None) -> Iterable[int]:
    return DEFAULT_PORTS.values() if scheme is None else (DEFAULT_PORTS.get(scheme, 0),)


def _last(text: str | None) -> str | None:
    """The last of several values: the one that the trusted proxy itself wrote."""
    return text.rpartition(",")[2].strip() or None if text else None
