"""The promise of the slot local.  Spec: section 5."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from gevent.server import StreamServer

import mead
from mead.errors import TurnFailed
from mead.providers.errors import ProviderFault
from mead.providers.locality import (
    BootCheck,
    LocalGuard,
    addresses_of,
    private_address,
    reachable_url,
)
from tests.helpers.replay_server import ReplayServer, answer

ROOT = Path(mead.__file__).parent.parent


def guard(*addresses: str, url: str = "http://models.example:11434", **more) -> LocalGuard:
    """A guard whose resolver knows these addresses."""
    return LocalGuard(url, resolver=lambda host, port: addresses, **more)


@pytest.mark.parametrize(
    ("address", "connected"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.255.3.4", "127.255.3.4"),
        ("10.0.0.1", "10.0.0.1"),
        ("172.16.0.1", "172.16.0.1"),
        ("172.31.255.254", "172.31.255.254"),
        ("192.168.178.20", "192.168.178.20"),
        ("::1", "::1"),
        ("fc00::1", "fc00::1"),
        ("fdff:ffff::1", "fdff:ffff::1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::ffff:0.0.0.0", "127.0.0.1"),
    ],
)
def test_an_address_that_stays_here_is_connected_to(address, connected):
    assert guard(address).address() == connected


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.0.1",
        "11.0.0.1",
        "128.0.0.1",
        "100.64.0.1",  # carrier networks, Tailscale
        "169.254.169.254",  # the metadata service of clouds
        "224.0.0.1",
        "255.255.255.255",
        "2606:4700::1111",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1%eth0",
        "fec0::1",
        "::ffff:8.8.8.8",
        "::ffff:169.254.169.254",
        "::10.0.0.1",
        "64:ff9b::a00:1",  # NAT64 of 10.0.0.1
        "2002:a00:1::1",  # 6to4 of 10.0.0.1
        "not an address",
    ],
)
def test_an_address_that_leads_elsewhere_is_refused(address):
    assert private_address(address) is None
    with pytest.raises(TurnFailed) as failed:
        guard(address).address()
    assert failed.value.reason == "not_local"
    assert "nothing was sent" in failed.value.message


def test_one_public_address_among_private_ones_refuses_the_host():
    with pytest.raises(TurnFailed, match=r"8\.8\.4\.4"):
        guard("10.0.0.1", "8.8.4.4", "127.0.0.1").address()


def test_the_slot_may_allow_a_remote_host():
    assert guard("8.8.8.8", allow_remote=True).address() == "8.8.8.8"


def test_a_host_that_becomes_public_is_refused_at_the_next_request():
    """DNS rebinding: every request is checked, and connects to what was checked."""
    answers = [("10.0.0.1",), ("8.8.8.8",)]
    rebinding = LocalGuard("http://models.example", resolver=lambda host, port: answers.pop(0))
    assert rebinding.address() == "10.0.0.1"
    with pytest.raises(TurnFailed, match="private network"):
        rebinding.address()


@pytest.mark.parametrize("error", [socket.gaierror("no such name"), UnicodeError("label too long")])
def test_a_name_without_an_address_is_unavailable_and_no_breach(error):
    def resolver(host, port):
        raise error

    with pytest.raises(ProviderFault) as failed:
        LocalGuard("http://nowhere.example", resolver=resolver).address()
    assert failed.value.reason == "provider_unavailable"
    boot = LocalGuard("http://nowhere.example", resolver=resolver).boot_check()
    assert boot.fault is None
    assert "no address" in boot.warning


def test_a_resolver_that_hangs_is_left(hanging_resolver):
    with pytest.raises(ProviderFault, match="no address"):
        LocalGuard("http://slow.example", timeout_ms=20, resolver=hanging_resolver).address()


@pytest.fixture
def hanging_resolver():
    from gevent.event import Event

    return lambda host, port: Event().wait(60) and ()


def test_localhost_is_here_by_the_systems_own_resolver():
    assert LocalGuard("http://localhost:1").address() in {"127.0.0.1", "::1"}


def test_an_address_is_known_without_the_resolver(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the resolver was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert addresses_of("192.168.1.2", 80) == ["192.168.1.2"]
    assert addresses_of("8.8.8.8", 80) == ["8.8.8.8"]  # known, and refused by the guard


def test_a_trick_in_the_url_does_not_move_the_host():
    """What stands before the @ is a name and password, whatever it looks like."""
    seen = []
    tricky = LocalGuard(
        "http://localhost@evil.example:80",
        resolver=lambda host, port: seen.append((host, port)) or ("8.8.8.8",),
    )
    with pytest.raises(TurnFailed):
        tricky.address()
    assert seen == [("evil.example", 80)]


# -- several addresses -----------------------------------------------------------------------------


@pytest.fixture
def ipv4_server():
    server = StreamServer(("127.0.0.1", 0), lambda sock, _: sock.close())
    server.start()
    yield server
    server.stop(timeout=0)


def test_of_several_addresses_the_one_that_accepts_is_taken(ipv4_server):
    """localhost is ::1 and 127.0.0.1, and Ollama listens on one of them."""
    url = f"http://localhost:{ipv4_server.server_port}"
    assert guard("::1", "127.0.0.1", url=url).address() == "127.0.0.1"
    assert guard("127.0.0.1", "::1", url=url).address() == "127.0.0.1"


# -- boot ------------------------------------------------------------------------------------------


def test_the_boot_is_refused_for_a_public_host():
    boot = guard("8.8.8.8").boot_check()
    assert "allow_remote" in boot.fault


def test_the_boot_is_warned_of_a_server_that_is_not_there():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        boot = LocalGuard(url).boot_check()
    assert boot.fault is None
    assert "nothing answers" in boot.warning


def test_the_boot_is_content_with_a_server_that_is_there(ipv4_server):
    assert LocalGuard(f"http://127.0.0.1:{ipv4_server.server_port}").boot_check() == BootCheck()


@pytest.mark.parametrize(
    ("url", "reachable"),
    [
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("http://[::]:11434/prefix", "http://[::1]:11434/prefix"),
        ("http://10.0.0.1:11434", "http://10.0.0.1:11434"),
    ],
)
def test_an_address_to_bind_to_becomes_one_to_connect_to(url, reachable):
    """ollama-python#471: the client connected to 0.0.0.0."""
    assert reachable_url(url) == reachable


# -- the environment -------------------------------------------------------------------------------

CHILD = """
from gevent import monkey; monkey.patch_all()
import sys
from mead.config.settings import ProviderOptions
from mead.protocols import ModelRequest
from mead.providers.locality import LocalGuard
from mead.providers.ollama import OllamaProvider

options = ProviderOptions(model="m", base_url=sys.argv[1])
provider = OllamaProvider(options, guard=LocalGuard(options.base_url))
reply = provider.complete(ModelRequest(history=(), prompt="hello"))
sys.stdout.write(reply.text)
"""


def test_proxies_and_a_netrc_in_the_environment_do_not_matter(tmp_path):
    """Issue 2: the promise holds whatever the environment says; the trap sees no connection."""
    caught: list[object] = []
    trap = StreamServer(("127.0.0.1", 0), lambda sock, peer: caught.append(peer))
    trap.start()
    (tmp_path / ".netrc").write_text("default login trap password trap\n")
    (tmp_path / ".netrc").chmod(0o600)
    proxy = f"http://127.0.0.1:{trap.server_port}"
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "NETRC": str(tmp_path / ".netrc"),
        "PYTHONPATH": str(ROOT),
        **dict.fromkeys(names, proxy),
    }
    said_here = answer({"message": {"role": "assistant", "content": "here"}, "done": True})
    with ReplayServer(answer({"capabilities": []}), said_here) as ollama:
        said = subprocess.run(
            [sys.executable, "-c", CHILD, ollama.url],
            env=environment,
            capture_output=True,
            timeout=15,
            check=False,
        )
    trap.stop(timeout=0)
    assert said.stdout == b"here", said.stderr.decode()
    assert caught == []
    assert [each.path for each in ollama.seen] == ["/api/show", "/api/chat"]
    assert all("authorization" not in each.headers for each in ollama.seen)
