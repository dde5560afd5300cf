"""The tests stay on this machine: a connection to anywhere else is refused and fails its test.

Built on Python's audit events, so that it sees every socket of the process, patched or not, native
threads included.  Names are not looked up either: every name but localhost is unknown here.
A network namespace that a test made (`tests.helpers.namespaces`) reaches no other machine, so who
is inside of one may connect to what is there.
"""

import ipaddress
import socket
import sys
from pathlib import Path
from typing import Any, Final

_NAMES: Final = {"", "localhost", "ip6-localhost"}
_NAMESPACE: Final = Path("/proc/thread-self/ns/net")
_CONNECTING: Final = {"socket.connect", "socket.sendto", "socket.sendmsg"}


class OutsideConnection(AssertionError):
    """A test tried to reach another machine."""


class OutsideGuard:
    """Refuses connections that leave the machine, and keeps what was tried."""

    def __init__(self) -> None:
        self.allowed = False
        self.attempts: list[str] = []
        self._home = _namespace()

    def install(self) -> None:
        """For the life of the process: an audit hook cannot be taken out again."""
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not event.startswith("socket.") or self.allowed:
            return
        if event in _CONNECTING:
            self._connecting(*arguments[:2])
        elif event == "socket.getaddrinfo" and _needs_a_lookup(_text(arguments[0])):
            raise socket.gaierror(socket.EAI_NONAME, "the tests look no names up")

    def _connecting(self, sock: socket.socket, address: Any) -> None:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or address is None:
            return
        host = _text(address[0])
        if not _is_here(host) and _namespace() == self._home:
            self.attempts.append(f"{host} port {address[1]}")
            raise OutsideConnection(f"a test tried to connect to {host} port {address[1]}")


def _namespace() -> Path:
    """The network that this thread is on."""
    return _NAMESPACE.readlink()


def _text(host: str | bytes | None) -> str:
    return host.decode() if isinstance(host, bytes) else host or ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _needs_a_lookup(host: str) -> bool:
    return host not in _NAMES and _address(host) is None


def _is_here(host: str) -> bool:
    address = _address(host)
    if address is None:
        return host in _NAMES
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
