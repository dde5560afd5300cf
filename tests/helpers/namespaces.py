"""Networks of a test's own: a server and its clients on what the kernel takes for machines.

Each machine is a network namespace; a client's is joined to the server's by a pair of virtual
Ethernet devices.  Nothing here reaches the real network.  Needs root and `ip` (iproute2).
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

_NAMESPACES: Final = Path("/run/netns")
_OF_THIS_THREAD: Final = Path("/proc/thread-self/ns/net")
_CLONE_NEWNET: Final = 0x40000000
_NOBODY: Final = "02:00:00:00:00:ff"
"""The hardware address of no device: a frame that is sent there is lost without a word."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


def missing() -> str | None:
    """Why there can be no networks here; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need `ip`, of the package iproute2"
    return None


class Wire:
    """One client's machine and its cable to the server."""

    def __init__(self, server: str, number: int) -> None:
        self.namespace = f"{server}-{number}"
        self.server_address = f"10.213.{number}.1"
        """Where this client finds the server."""
        self._server = server
        self._own_address = f"10.213.{number}.2"
        self._devices = (f"server{number}", f"client{number}")

    def lay(self) -> None:
        """Make the machine and connect it."""
        ip("netns", "add", self.namespace)
        server, client = self._devices
        ends = ("peer", "name", client, "netns", self.namespace)
        ip("link", "add", server, "netns", self._server, "type", "veth", *ends)
        for namespace, device, address in (
            (self._server, server, self.server_address),
            (self.namespace, client, self._own_address),
        ):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", device)
            ip("-n", namespace, "link", "set", device, "up")

    def swallow(self) -> None:
        """From now on every packet is lost, both ways; neither side's kernel is told anything."""
        server, client = self._devices
        _misdirect(self._server, server, self._own_address)
        _misdirect(self.namespace, client, self.server_address)

    def remove(self) -> None:
        """Take the machine away, and the cable with it."""
        ip("netns", "delete", self.namespace)


@contextmanager
def star(clients: int) -> Iterator[tuple[str, list[Wire]]]:
    """A server's namespace and the wires of so many clients."""
    server = f"mead-{os.getpid()}"
    wires = [Wire(server, number) for number in range(1, clients + 1)]
    with ExitStack() as held:
        ip("netns", "add", server)
        held.callback(ip, "netns", "delete", server)
        ip("-n", server, "link", "set", "lo", "up")
        for wire in wires:
            wire.lay()
            held.callback(wire.remove)
        yield server, wires


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Sockets and child processes that are made in the block belong to that machine for good."""
    with _OF_THIS_THREAD.open("rb") as home, (_NAMESPACES / namespace).open("rb") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def ip(*arguments: str) -> None:
    """Run `ip`."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


def _misdirect(namespace: str, device: str, address: str) -> None:
    entry = ("neighbour", "replace", address, "lladdr", _NOBODY, "nud", "permanent", "dev", device)
    ip("-n", namespace, *entry)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
