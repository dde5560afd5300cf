"""nginx and Caddy as docs/deployment.md configures them, before a real Mead."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import requests
from websockets.sync.client import connect

from tests.docs.blocks import ROOT, replaced, written_in
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, Server, free_port, running
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

NGINX: Final = written_in("nginx")
CADDY: Final = written_in("caddyfile")
TLS: Final = ROOT / "tests" / "data" / "tls"
NAME: Final = "localhost"
"""In place of mead.example.com: the name in the certificate."""

MODEL: Final = """
[router.slots.local]
provider = "scripted"
model = "script"
script = [{ text = "At last.", delay_ms = 25000 }]
"""


def settings() -> str:
    """What the docs have behind a proxy."""
    (block,) = (
        each.text for each in written_in("toml", "docs/deployment.md") if "trusted" in each.text
    )
    text = replaced(block, {"mead.example.com": NAME})
    faces = f'[mcp_server]\ntoken = "{MCP_TOKEN}"'
    return text.replace("[mcp_server]", faces) + f'[deck]\ntoken = "{DECK_TOKEN}"\n' + MODEL


class Proxy:
    """A proxy that runs, and how it is reached."""

    def __init__(self, scheme: str, port: int) -> None:
        self.base = f"{scheme}://{NAME}:{port}"
        self.tls = None if scheme == "http" else ssl.create_default_context(cafile=TLS / "cert.pem")

    def ask(self, method: str, path: str, token: str, **options: Any) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            session.headers["Authorization"] = f"Bearer {token}"
            options.setdefault("timeout", 15)
            certificate = TLS / "cert.pem"
            return session.request(method, self.base + path, verify=certificate, **options)

    def first_event(self, prefix: str) -> Any:
        """The first thing that a deck's device is told."""
        ticket = self.ask("POST", f"{prefix}/deck/ticket", DECK_TOKEN, json={}).json()["ticket"]
        address = f"ws{self.base.removeprefix('http')}{prefix}/deck/socket"
        offered = ["mead.deck.v1", f"ticket.{ticket}"]
        with connect(
            address, ssl=self.tls, subprotocols=offered, origin=self.base, proxy=None
        ) as device:
            device.send(b'{"type": "session.resume", "payload": {"last_sequence": 0}}', text=True)
            return orjson.loads(device.recv(timeout=10))


@contextmanager
def _process(port: int, *command: str, log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        assert eventually(lambda: _listens(port) or process.poll() is not None, 15)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait(15)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nginx(directory: Path, server: Server) -> Iterator[Proxy]:
    (block,) = NGINX
    port = free_port()
    text = replaced(
        block.text,
        {
            "mead.example.com": NAME,
            "listen 443": f"listen 127.0.0.1:{port}",
            "/etc/mead": str(TLS),
            "127.0.0.1:4040": f"127.0.0.1:{server.port}",
        },
    )
    places = "".join(
        f"{kind}_temp_path {directory}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = directory / "nginx.conf"
    file.write_text(
        f"daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ access_log off;\n{places}{text}}}\n"
    )
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program, "apt-get install nginx-light"
    with _process(port, program, "-c", str(file), log=directory / "nginx.log"):
        yield Proxy("https", port)


@contextmanager
def caddy(directory: Path, server: Server) -> Iterator[Proxy]:
    """Without its own TLS, for which it would ask a certificate authority."""
    (block,) = CADDY
    port = free_port()
    text = replaced(
        block.text,
        {
            "mead.example.com": f"http://{NAME}:{port}",
            "127.0.0.1:4040": f"127.0.0.1:{server.port}",
        },
    )
    file = directory / "Caddyfile"
    file.write_text(f"{{\n\tadmin off\n}}\n{text}")
    program = shutil.which("caddy")
    assert program, "apt-get install caddy"
    arguments = ("run", "--adapter", "caddyfile", "--config", str(file))
    with _process(port, "env", f"HOME={directory}", program, *arguments, log=directory / "caddy"):
        yield Proxy("http", port)


PROXIES: Final = {"nginx": nginx, "caddy": caddy}


@pytest.mark.parametrize("name", PROXIES)
def test_everything_goes_through_at_the_root_and_under_a_path(name: str, tmp_path: Path) -> None:
    with running(Server(tmp_path, settings())) as server, PROXIES[name](tmp_path, server) as proxy:
        for prefix in ("", "/mead"):
            assert proxy.ask("GET", f"{prefix}/readyz", "").ok
            assert "<!doctype html>" in proxy.ask("GET", f"{prefix}/deck/", "").text
            listed = proxy.ask("POST", f"{prefix}/mcp", MCP_TOKEN, json=_call("list_sessions", {}))
            assert listed.json()["result"]["isError"] is False
            assert proxy.first_event(prefix)["type"] == "session.snapshot"


@pytest.mark.parametrize("name", PROXIES)
def test_what_the_proxy_says_of_the_client_is_believed(name: str, tmp_path: Path) -> None:
    with running(Server(tmp_path, settings())) as server, PROXIES[name](tmp_path, server) as proxy:
        for origin, status in ((proxy.base, 200), (proxy.base.replace("://", "x://"), 403)):
            asked = proxy.ask("GET", "/deck/info", DECK_TOKEN, headers={"Origin": origin})
            assert asked.status_code == status
        other = "https" if proxy.tls is None else "http"
        origin = f"{other}://{proxy.base.partition('://')[2]}"
        asked = proxy.ask("GET", "/deck/info", DECK_TOKEN, headers={"Origin": origin})
        assert asked.status_code == 403  # the scheme counts, and only the proxy knows it


@pytest.mark.parametrize("name", PROXIES)
def test_words_come_as_they_are_said(name: str, tmp_path: Path) -> None:
    """The model is silent for longer than the test waits for the beginning of the answer."""
    with running(Server(tmp_path, settings())) as server, PROXIES[name](tmp_path, server) as proxy:
        started = proxy.ask("POST", "/mcp", MCP_TOKEN, json=_call("start_session", {})).json()
        arguments = {**started["result"]["structuredContent"], "input": "Say it"}
        headers = {"Accept": "application/json, text/event-stream"}
        call = _call("submit_turn", arguments, _meta={"progressToken": 1})
        asked = {"json": call, "headers": headers, "stream": True}
        with proxy.ask("POST", "/mcp", MCP_TOKEN, **asked) as answer:
            assert next(answer.iter_content(None)).startswith(b": the answer follows")


def _call(tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
