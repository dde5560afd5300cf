"""What `make run` prepares: a first mead.toml, completed later; a port and a storage are free."""

import os
import socket
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mead.api import Mead
from mead.cli.setup import first_file, port_in_use, prepare, storage_in_use
from mead.config import Settings, load_settings

ROOT = Path(__file__).parents[2]


def slots(environ: dict[str, str]) -> dict[str, str]:
    tree = tomllib.loads(first_file(environ))
    return {name: slot["provider"] for name, slot in tree["router"]["slots"].items()}


def test_the_environment_decides_the_first_slots() -> None:
    assert slots({}) == {"local": "embedded"}
    assert slots({"ANTHROPIC_API_KEY": "k"}) == {"cloud": "anthropic"}
    assert slots({"OLLAMA_HOST": "h"}) == {"local": "ollama"}
    assert slots({"ANTHROPIC_API_KEY": "k", "OLLAMA_HOST": "h"}) == {
        "cloud": "anthropic",
        "local": "ollama",
    }


@pytest.mark.parametrize(
    "environ", [{}, {"ANTHROPIC_API_KEY": "k-1"}, {"OLLAMA_HOST": "127.0.0.1"}]
)
def test_what_it_writes_is_private_and_loads(tmp_path: Path, environ: dict[str, str]) -> None:
    prepare(tmp_path, environ)
    assert stat.S_IMODE((tmp_path / "mead.toml").stat().st_mode) == 0o600
    assert "k-1" not in (tmp_path / "mead.toml").read_text()
    settings = load_settings(environ, tmp_path)
    assert settings.storage.directory == tmp_path / "var"
    assert settings.deck.token is not None


def test_a_file_of_an_earlier_version_gets_what_it_lacks_and_another_is_left_alone(
    tmp_path: Path,
) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "mead.toml").write_text(first_file({}).split("[storage]")[0])
    prepare(ours, {})
    prepare(ours, {})
    assert (ours / "mead.toml").read_text().count("[storage]") == 1
    assert load_settings({}, ours).storage.directory == ours / "var"
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "mead.toml").write_text("[runtime]\nmaximum_sessions = 5\n")
    prepare(theirs, {})
    assert (theirs / "mead.toml").read_text() == "[runtime]\nmaximum_sessions = 5\n"


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        trouble = port_in_use(Settings.build({"mcp_server": {"port": port}}))
        done = subprocess.run(
            [sys.executable, "-m", "mead.cli.setup"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "", "MEAD_MCP_SERVER__PORT": str(port)},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert trouble is not None
    assert "mcp_server.port" in trouble
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "listen" not in done.stdout
    assert port_in_use(Settings.build({"mcp_server": {"port": port}})) is None


def test_a_storage_that_is_taken_is_said_at_once_and_no_link_printed(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with Mead({"storage": {"directory": str(tmp_path / "var")}}):
        done = subprocess.run(
            [sys.executable, "-m", "mead.cli.setup"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "", "MEAD_MCP_SERVER__PORT": port},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == os.EX_TEMPFAIL
    assert done.stderr.count("\n") == 1
    assert f"(pid {os.getpid()}); stop that one" in done.stderr
    assert "code=" not in done.stdout
    assert "listen" not in done.stdout


def test_a_storage_whose_holder_leaves_is_as_good_as_free(tmp_path: Path) -> None:
    settings = Settings.build({"storage": {"directory": str(tmp_path)}})
    assert storage_in_use(settings) is None
    with Mead({"storage": {"directory": str(tmp_path)}}) as mead:
        assert storage_in_use(settings) is not None
        mead.deck().drain()
        assert storage_in_use(settings) is None
    assert storage_in_use(settings) is None
