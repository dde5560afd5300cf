"""The docs' example of the official Python SDK holds a conversation with a real server."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import replaced, written_in
from tests.docs.sandbox import SLOT
from tests.helpers.server import MCP_TOKEN, Server, running
from tests.peers import install

SDK: Final = tuple(block for block in written_in("python") if "from mcp import" in block.text)
"""These need packages that Mead itself does not."""


@pytest.mark.e2e
@pytest.mark.timeout(90)
@pytest.mark.parametrize("block", SDK, ids=str)
def test_the_example_prints_the_answer(block, tmp_path: Path) -> None:
    peers = install()
    server = Server(tmp_path, f'[mcp_server]\ntoken = "{MCP_TOKEN}"\n{SLOT}')
    with running(server):
        text = replaced(block.text, {"http://127.0.0.1:4040/mcp": server.url("/mcp")})
        done = subprocess.run(
            [peers.python, "-c", text],
            env={"PATH": peers.path, "HOME": str(tmp_path), "MEAD_MCP_TOKEN": MCP_TOKEN},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.stdout, done.returncode) == ("Hello.\n", 0), done.stderr
