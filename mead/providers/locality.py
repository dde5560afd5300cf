"""The promise of the slot `local`: what is said there stays on this machine or this network.

A host keeps the promise only if *every* address that its name resolves to is loopback, RFC 1918 or
fc00::/7.  One address elsewhere and it is refused: the resolver may hand out any of them next time.
The check runs at boot and again for every request, and the connection goes to the address that was
checked, so that a second look-up cannot give another one (DNS rebinding).

What is decided where the rule is silent:

- 0.0.0.0 and :: mean this machine, and become 127.0.0.1 and ::1.
- An IPv4 address inside an IPv6 one (`::ffff:10.0.0.1`) is judged, and connected to, as the IPv4
  address.  Other embeddings (6to4, NAT64, `::10.0.0.1`) are refused.
- Link-local addresses are refused, and so is any address with a zone (`fe80::1%eth0`): 169.254/16
  is where clouds keep their metadata service, and a zone has no meaning beyond this machine.
- 100.64/10 (carrier networks, Tailscale) is refused: it is shared with people unknown.
- A name with several addresses that all are fine is connected to at the first that accepts.

Source: SPEC section 5.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from mead.actors.green import Timeout, time_limit
from mead.errors import TurnFailed
from mead.providers.errors import ProviderFault

NOT_LOCAL: Final = "not_local"
PROBE_TIMEOUT_MS: Final = 1000
"""How long one of several addresses may take to accept before the next is tried."""
CHOICE_MS: Final = 60_000
"""How long the choice between several addresses stands."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PRIVATE: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
    )
)
_UNSPECIFIED: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, never bound

Resolver = Callable[[str, int], Sequence[str]]
"""(host, port) -> its addresses as texts.  Raises OSError when there are none."""


@dataclass(frozen=True, slots=True)
class BootCheck:
    """What the boot is told about a slot: a fault stops it, a warning is logged."""

    fault: str | None = None
    warning: str | None = None


def addresses_of(host: str, port: int) -> list[str]:
    """Every address that the system's resolver knows for the name.  Blocks on: DNS.

    An address is its own: asking costs a thread's turn, before each call of a model.
    """
    try:
        return [str(ipaddress.IPv4Address(host))]
    except ValueError:
        pass  # a name, an IPv6 address, or a form that only the resolver reads
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def private_address(text: str) -> str | None:
    """The address to connect to if `text` is one that stays here; None if it is not."""
    text = _UNSPECIFIED.get(text, text)
    if "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return private_address(str(address.ipv4_mapped))
    inside = any(address.version == net.version and address in net for net in _PRIVATE)
    return str(address) if inside else None


def reachable_url(base_url: str) -> str:
    """The URL, its host a loopback address where it names the address that only servers bind to.

    Source: ollama-python#471.
    """
    parts = urlsplit(base_url)
    loopback = _UNSPECIFIED.get(parts.hostname or "")
    if loopback is None:
        return base_url
    shown = f"[{loopback}]" if ":" in loopback else loopback
    netloc = shown if parts.port is None else f"{shown}:{parts.port}"
    return urlunsplit(parts._replace(netloc=netloc))


class LocalGuard:
    """Checks one base URL, for the boot and for every request to it.

    With `allow_remote` it resolves and pins, but refuses nothing.
    """

    def __init__(
        self,
        base_url: str,
        *,
        allow_remote: bool = False,
        timeout_ms: float = 5000,
        resolver: Resolver = addresses_of,
    ) -> None:
        """`timeout_ms` bounds one look-up.  The URL has been validated by the configuration."""
        parts = urlsplit(base_url)
        self.host = parts.hostname or ""
        self._port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
        self._allow_remote = allow_remote
        self._timeout_ms = timeout_ms
        self._resolver = resolver
        self._choice: tuple[str, float] | None = None

    def address(self) -> str:
        """The checked address to connect to: the `resolve` of `mead.providers.http.HttpClient`.

        Raises TurnFailed `not_local`, ProviderFault `provider_unavailable` (no such name).
        Blocks on: DNS, and a connection when the name has several addresses.
        """
        private = self.check()
        return private[0] if len(private) == 1 else self._chosen(private)

    def check(self) -> list[str]:
        """The addresses that may be connected to, at least one.  Raises as `address`.

        Blocks on: DNS.
        """
        try:
            addresses = self._resolved()
        except OSError:
            raise ProviderFault(
                "provider_unavailable", f"the host {self.host} has no address", retryable=True
            ) from None
        return self._checked(addresses)

    def boot_check(self) -> BootCheck:
        """The fault of a host that is not local, or the warning of one that cannot be reached now.

        Blocks on: DNS and a connection.
        """
        try:
            address = self._checked(self._resolved())
        except TurnFailed as failed:
            return BootCheck(fault=failed.message)
        except OSError:
            return BootCheck(warning=f"the host {self.host} has no address at the moment")
        if any(_accepts(each, self._port) for each in address):
            return BootCheck()
        return BootCheck(warning=f"nothing answers at {self.host}:{self._port} at the moment")

    def _resolved(self) -> list[str]:
        """The addresses, without repeats.  Raises OSError, also when the look-up takes too long."""
        limit = time_limit(self._timeout_ms)
        try:
            found = self._resolver(self.host, self._port)
        except Timeout as timeout:
            if timeout is not limit:
                raise
            raise TimeoutError from None
        except UnicodeError:  # a label that no DNS name can have
            raise OSError from None
        finally:
            limit.close()
        if not found:
            raise OSError
        return list(dict.fromkeys(found))

    def _checked(self, addresses: list[str]) -> list[str]:
        """What to connect to; raises TurnFailed unless every address may be."""
        private = [private_address(address) for address in addresses]
        kept = [address for address in private if address is not None]
        if len(kept) < len(addresses):
            if self._allow_remote:
                return [private_address(address) or address for address in addresses]
            raise TurnFailed(
                NOT_LOCAL,
                f"the slot local may only reach this machine or a private network, and"
                f" {self.host} is at {addresses[private.index(None)]}; nothing was sent."
                f" Use the slot cloud, or set allow_remote = true",
            )
        return list(dict.fromkeys(kept))

    def _chosen(self, addresses: list[str]) -> str:
        """The first that accepts: `localhost` is ::1 and 127.0.0.1, most servers only one."""
        now = time.monotonic()
        if self._choice is not None and self._choice[0] in addresses and now < self._choice[1]:
            return self._choice[0]
        for address in addresses:
            if _accepts(address, self._port):
                self._choice = (address, now + CHOICE_MS / 1000)
                return address
        return addresses[0]


def _accepts(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), PROBE_TIMEOUT_MS / 1000).close()
    except OSError:
        return False
    return True
