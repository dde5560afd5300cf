"""The official conformance suite against a real server, in both eras.

The fixture tools stand behind the nine; a proxy adds the token, which the suite cannot send.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.server import MCP_TOKEN, Server, running
from tests.helpers.token_proxy import adding
from tests.peers import Peers, install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HERE = Path(__file__).parent
APP = "tests.mcp.conformance.fixture_app:app"

RELEASED = "@modelcontextprotocol/conformance/dist/index.js"
NEXT = "conformance-next/dist/index.js"

TOOLS = [
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "dns-rebinding-protection",
]
HANDSHAKE = ["server-initialize", "ping", *TOOLS]
STATELESS = [*TOOLS, "http-header-validation", "json-schema-2020-12"]
"""What has to pass; the suite itself would be content with a scenario in which nothing ran."""


@pytest.fixture(scope="module")
def peers() -> Peers:
    return install()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Server(
        tmp_path_factory.mktemp("server"), f'[mcp_server]\ntoken = "{MCP_TOKEN}"\n', app=APP
    )
    with running(server), adding(f"Authorization: Bearer {MCP_TOKEN}", server.port) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize(
    ("suite", "options", "baseline", "scenarios"),
    [
        (RELEASED, ("--suite", "active"), "handshake.yml", HANDSHAKE),
        (NEXT, ("--requirements", "2025-11-25"), "handshake.yml", HANDSHAKE),
        (NEXT, ("--requirements", "2026-07-28"), "stateless.yml", STATELESS),
    ],
    ids=["0.1.16", "0.2.0 at 2025-11-25", "0.2.0 at 2026-07-28"],
)
def test_the_conformance_suite_passes_but_for_what_the_baseline_names(
    peers: Peers,
    address: str,
    tmp_path: Path,
    suite: str,
    options: tuple[str, str],
    baseline: str,
    scenarios: list[str],
) -> None:
    command = [peers.node, peers.module(suite), "server", "--url", address, *options]
    done = subprocess.run(
        [*map(str, command), "--expected-failures", str(HERE / baseline)],
        cwd=tmp_path,
        env={"PATH": peers.path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout)
    assert set(scenarios) <= set(passed), done.stdout[-4000:]
