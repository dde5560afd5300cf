"""The embedded model's child, as its tests look at it."""

import psutil
import requests

from mead.protocols import ModelRequest
from mead.providers.embedded import EmbeddedProvider


def ask(prompt: str = "hello", **more) -> ModelRequest:
    """A request without history."""
    return ModelRequest(history=(), prompt=prompt, **more)


def child_of(provider: EmbeddedProvider) -> psutil.Process:
    """The provider's child, found by the port that it listens on."""
    provider.endpoint.wait(5000)
    port = int(provider.host.rpartition(":")[2])
    for child in psutil.Process().children():
        if any(each.laddr.port == port for each in child.net_connections(kind="inet")):
            return child
    raise AssertionError("no child listens there")


def get(provider: EmbeddedProvider, path: str, *, key: bool, method: str = "GET", **headers):
    """What the child answers at that path."""
    address = provider.endpoint.wait(5000)
    if key:
        headers["Authorization"] = f"Bearer {address.key}"
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, address.url + path, headers=headers, timeout=5)
