"""The shapes of addresses: each function gives the normal form of one or raises ValueError.

None of them resolves a name: that is asked when the address is used.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_OLLAMA_PORT: Final = 11434
_OLLAMA_CLOUD: Final = "ollama.com"
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
_ORIGIN: Final = re.compile(r"([a-z][a-z0-9+.-]*)://((?:[^\s/?#@:*\[\]]+|\[[0-9a-f:.]+\]))(:\d+)?")
_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(\d+))?")


def base_url(text: str) -> str:
    """An http(s) address without name, query or fragment, and without a slash at its end."""
    parts = _http(text)
    if _has_userinfo(parts) or parts.query or parts.fragment or text[-1] in "?#":
        raise ValueError
    return text.rstrip("/")


def bare_base_url(text: str) -> str:
    """A base address whose maker's client adds `/v1` or `/api` itself."""
    address = base_url(text)
    if address.endswith("/v1"):
        raise ValueError
    return address


def ollama_url(text: str) -> str:
    """An address as OLLAMA_HOST may give it, whole.  Source: PROVIDERS.md section 2.

    Without a scheme it is http and port 11434; with one, that scheme's own port.  An address that
    only a server can listen on (0.0.0.0, ::) becomes loopback.
    """
    text = text.strip().strip("\"'").strip()
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = ("https", text) if text == _OLLAMA_CLOUD else ("http", _bracketed(text))
    scheme = scheme.lower()
    parts = urlsplit(f"{scheme}://{rest}")
    if scheme not in _DEFAULT_PORTS or _has_userinfo(parts) or not _printable(text):
        raise ValueError
    own_port = _DEFAULT_PORTS[scheme]
    port = _port(parts) or (own_port if found or scheme == "https" else _OLLAMA_PORT)
    host = _LOOPBACK.get(parts.hostname or "", parts.hostname or "")
    shown_port = "" if port == own_port else f":{port}"
    return bare_base_url(f"{scheme}://{_bracketed(host)}{shown_port}{parts.path}".rstrip("/"))


def server_url(text: str) -> str:
    """The http(s) address of an MCP server; a key belongs in a header, or at worst in the query."""
    parts = _http(text)
    if _has_userinfo(parts) or parts.fragment:
        raise ValueError
    return text


def proxy_url(text: str) -> str:
    """The http(s) address of a proxy, with or without a name and password."""
    parts = _http(text)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError
    return text.rstrip("/")


def origin(text: str) -> str:
    """An Origin as a browser sends it: lower case, no path, no port that its scheme implies."""
    match = _ORIGIN.fullmatch(text.lower())
    if match is None:
        raise ValueError
    scheme, host, port = match.groups()
    if port is None or int(port[1:]) == _DEFAULT_PORTS.get(scheme):
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{_checked_port(int(port[1:]))}"


def host(text: str) -> str:
    """`host` or `host:port`, lower case."""
    lowered = text.lower()
    match = _HOST.fullmatch(lowered)
    if match is None:
        raise ValueError
    if match.group(1) is not None:
        _checked_port(int(match.group(1)))
    return lowered


def ip_address(text: str) -> str:
    """An IP address to listen on, without brackets; `localhost` is 127.0.0.1."""
    if text.lower() == "localhost":
        return "127.0.0.1"
    return str(ipaddress.ip_address(text.removeprefix("[").removesuffix("]")))


def ip_network(text: str) -> str:
    """An IP address or a network."""
    network = ipaddress.ip_network(text, strict=False)
    whole = network.prefixlen == network.max_prefixlen
    return str(network.network_address) if whole else str(network)


def _http(text: str) -> SplitResult:
    parts = urlsplit(text)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or not _printable(text):
        raise ValueError
    _port(parts)
    return parts


def _has_userinfo(parts: SplitResult) -> bool:
    return "@" in parts.netloc


def _port(parts: SplitResult) -> int | None:
    return None if parts.port is None else _checked_port(parts.port)


def _checked_port(port: int) -> int:
    if not 1 <= port <= 65_535:
        raise ValueError
    return port


def _printable(text: str) -> bool:
    return text.isprintable() and " " not in text and "\\" not in text


def _bracketed(text: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(text)}]"
    except ValueError:
        return text
