"""What another user of the same machine gets of a running Mead: nothing.  Needs root to be one."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mead.control import wire
from tests.helpers.mcp_settings import FAKE, PYTHON
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, Server, running
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

NOBODY = 65_534
SERVER_SECRET = "secret-of-the-tool-server-0123456789"
ASK = """
import os, socket, sys
os.setgroups([]); os.setgid({user}); os.setuid({user})
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(5)
try:
    connection.connect(sys.argv[1])
    connection.sendall(b'{{"call": "status"}}\\n')
    print(connection.recv(100) or "hung up")
except PermissionError:
    print("refused")
except (BrokenPipeError, ConnectionResetError):
    print("hung up")
"""


@pytest.fixture(scope="module")
def open_directory() -> Iterator[Path]:
    """A directory that every user may go through, unlike those of pytest."""

    with tempfile.TemporaryDirectory(prefix="mead-open-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="module")
def server(open_directory: Path) -> Iterator[Server]:
    """With every kind of secret, under a umask that hides nothing."""
    tool = f"""
[[mcp.servers]]
name = "fake"
transport = "stdio"
command = "{PYTHON[0]}"
arguments = ["-I", "-S", "{FAKE}", "{{}}"]
environment = {{ FAKE_KEY = "{SERVER_SECRET}" }}
tools = {{ echo = "read" }}
"""
    toml = f"""
[mcp_server]
token = "env:TOKEN_OF_MCP"
[deck]
token = "file:{open_directory}/token"
[storage]
directory = "{open_directory}/var"
{tool}
"""
    (open_directory / "token").write_text(DECK_TOKEN)
    (open_directory / "token").chmod(0o600)
    before = os.umask(0)
    try:
        with running(Server(open_directory, toml), TOKEN_OF_MCP=MCP_TOKEN) as server:
            server.expect("fake: connected")
            yield server
    finally:
        os.umask(before)


def as_nobody(path: Path) -> str:
    if os.geteuid() != 0:
        pytest.skip("being another user needs root")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK.format(user=NOBODY), str(path)],
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    return done.stdout.strip()


def test_the_control_socket_is_out_of_reach(server: Server, open_directory: Path) -> None:
    assert as_nobody(open_directory / "var" / wire.SOCKET_NAME) == "refused"


def test_a_socket_that_somebody_opened_up_still_knows_its_user(
    server: Server, open_directory: Path
) -> None:
    """The second lock, should the modes of directory and socket be changed by hand."""
    directory, path = open_directory / "var", open_directory / "var" / wire.SOCKET_NAME
    directory.chmod(0o755)
    path.chmod(0o666)
    try:
        assert as_nobody(path) == "hung up"
    finally:
        directory.chmod(0o700)
        path.chmod(0o600)


def test_whatever_the_umask_every_file_is_its_users_alone(
    server: Server, open_directory: Path
) -> None:
    deck = {"Authorization": f"Bearer {DECK_TOKEN}"}
    ticket = server.request("POST", "/deck/ticket", json={}, headers=deck)
    start = {"name": "start_session", "arguments": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": start}
    mcp = {"Authorization": f"Bearer {MCP_TOKEN}"}
    made = server.request("POST", "/mcp", json=call, headers=mcp).json()
    session_id = made["result"]["structuredContent"]["session_id"]
    server.request("PATCH", f"/deck/sessions/{session_id}", json={"title": "T"}, headers=deck)
    assert ticket.status_code == 200
    directory = open_directory / "var"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert {f"{session_id}.log", f"{session_id}.title", "mead.lock"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_no_command_line_and_no_childs_environment_holds_a_secret(server: Server) -> None:
    """Anyone can read a command line; a child hands its environment to whatever it starts."""
    master = psutil.Process(server.process.pid)
    (worker,) = server.workers()
    own = {master.pid, worker}
    everyone = eventually(lambda: _with_the_tool_server(master))
    for process in everyone:
        line = " ".join(process.cmdline())
        held = process.environ() if process.pid not in own else {}
        for secret in (MCP_TOKEN, DECK_TOKEN, SERVER_SECRET):
            assert secret not in line
        for secret in (MCP_TOKEN, DECK_TOKEN):
            assert secret not in held.values()
    holders = [each for each in everyone if SERVER_SECRET in each.environ().values()]
    assert len(holders) == 1, "the tool server, not its launcher"
    assert FAKE in holders[0].cmdline()


def _with_the_tool_server(master: psutil.Process) -> list[psutil.Process] | None:
    found = [master, *master.children(recursive=True)]
    return found if any(FAKE in each.cmdline() for each in found) else None


def test_no_log_line_holds_a_secret(server: Server) -> None:
    for secret in (MCP_TOKEN, DECK_TOKEN, SERVER_SECRET):
        assert secret not in server.log
