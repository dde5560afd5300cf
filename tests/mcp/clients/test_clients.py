"""Clients that others wrote hold a conversation: start, ask, read, delete; over HTTP and HTTPS."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.server import MCP_TOKEN, Server, running
from tests.peers import Peers, install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

HERE = Path(__file__).parent
CERTIFICATE = HERE.parents[1] / "data" / "tls" / "cert.pem"
KEY = CERTIFICATE.with_name("key.pem")
STATELESS = "2026-07-28"
NEWEST_HANDSHAKE = "2025-11-25"

MODEL = """
[router.slots.local]
provider = "scripted"
model = "storyteller"
script = [{ chunks = ["Once", " upon", " a time"], delay_ms = 300 }]
"""


@pytest.fixture(scope="module")
def peers() -> Peers:
    return install()


@pytest.fixture(scope="module", params=["http", "https"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    tls = f'certfile = "{CERTIFICATE}"\nkeyfile = "{KEY}"\n' if request.param == "https" else ""
    toml = f'[mcp_server]\ntoken = "{MCP_TOKEN}"\n{tls}{MODEL}'
    directory = tmp_path_factory.mktemp(request.param)
    with running(Server(directory, toml, scheme=request.param)) as started:
        yield started


def run(peers: Peers, server: Server, *command: object, **options: Any) -> Any:
    """Run a client; what it prints, read as JSON.  A client trusts the certificate its own way."""
    tls = server.scheme == "https"
    environment = {
        "PATH": peers.path,
        "HOME": str(server.directory),
        "MEAD_URL": server.url("/mcp"),
        "MEAD_TOKEN": MCP_TOKEN,
        "MEAD_CA": str(CERTIFICATE) if tls else "",
        **({"NODE_EXTRA_CA_CERTS": str(CERTIFICATE)} if tls else {}),
        **options.pop("environment", {}),
    }
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )
    assert done.returncode == options.get("status", 0), done.stdout + done.stderr + server.log
    return {**json.loads(done.stdout), "stderr": done.stderr}


def check(told: dict[str, Any]) -> None:
    assert told["tools"][0] == "list_sessions"
    assert len(told["tools"]) == 9
    assert told["output"] == "Once upon a time"
    assert told["progress"][0] == "Once"
    assert told["history"] == ["Tell me"]
    assert told["deleted"] is True
    assert told["gone"] == "not_found: there is no session with that id"


@pytest.mark.parametrize(
    ("mode", "version"),
    [("auto", STATELESS), ("legacy", NEWEST_HANDSHAKE), (STATELESS, STATELESS)],
)
def test_the_python_sdk_holds_a_conversation(
    peers: Peers, server: Server, mode: str, version: str
) -> None:
    script = HERE / "python_sdk.py"
    told = run(peers, server, peers.python, script, environment={"MEAD_MODE": mode})
    check(told)
    assert told["version"] == version
    assert told["server"] == (None if mode == STATELESS else "mead")  # pinned: it asks nothing


@pytest.mark.parametrize("mode", ["auto", "legacy", STATELESS])
def test_fastmcp_holds_a_conversation(peers: Peers, server: Server, mode: str) -> None:
    script = HERE / "fastmcp_client.py"
    check(run(peers, server, peers.python, script, environment={"MEAD_MODE": mode}))


@pytest.mark.parametrize(
    ("sdk", "mode", "version"),
    [
        ("v1", "", NEWEST_HANDSHAKE),
        ("v2", "legacy", NEWEST_HANDSHAKE),
        ("v2", "auto", STATELESS),
        ("v2", STATELESS, STATELESS),
    ],
)
def test_the_typescript_sdk_holds_a_conversation(
    peers: Peers, server: Server, sdk: str, mode: str, version: str
) -> None:
    told = run(
        peers,
        server,
        peers.node,
        "--input-type=module",
        environment={"MEAD_SDK": sdk, "MEAD_MODE": mode},
        input=(HERE / "converse.mjs").read_text(),
        cwd=peers.modules.parent,
    )
    check(told)
    assert (told["version"], told["server"]) == (version, "mead")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_holds_a_conversation(peers: Peers, server: Server, era: str) -> None:
    def inspect(method: str, *more: str) -> Any:
        return run(
            peers,
            server,
            peers.node,
            peers.module(".bin/mcp-inspector"),
            *("--cli", server.url("/mcp"), "--transport", "http", "--protocol-era", era),
            *("--header", f"Authorization: Bearer {MCP_TOKEN}", "--format", "json", "-q"),
            *("--method", method, *more),
        )

    def use(name: str, **arguments: str) -> Any:
        told = inspect("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        return told["result"]["structuredContent"]

    session = use("start_session", handler="echo")
    assert use("submit_turn", **session, input="hello")["output"] == "hello"
    assert [turn["input"] for turn in use("history", **session)["turns"]] == ["hello"]
    assert use("delete_session", **session)["deleted"] is True


def test_the_inspector_finds_every_schema_portable(peers: Peers, server: Server) -> None:
    told = run(
        peers,
        server,
        peers.node,
        peers.module(".bin/mcp-inspector"),
        *("--cli", server.url("/mcp"), "--transport", "http", "--strict"),
        *("--header", f"Authorization: Bearer {MCP_TOKEN}", "--format", "json"),
        *("--method", "tools/list"),
    )
    assert len(told["result"]["tools"]) == 9
    assert "Warning" not in told["stderr"]
