"""Commands ask the running server where it listens: their own shell may have other variables."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mead import Mead
from mead.cli import links
from mead.config import Settings
from mead.protocols import Listener
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, Server, running
from wsgi import create_app

Run = Callable[..., Result]


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    return {
        "storage": {"directory": str(tmp_path / "var")},
        "deck": {"token": DECK_TOKEN},
        "mcp_server": {"token": MCP_TOKEN},
    }


@pytest.fixture
def run(tree: dict[str, Any]) -> Run:
    def run(*arguments: str) -> Result:
        runner = create_app(Settings.build(tree)).test_cli_runner()
        return runner.invoke(args=["mead", *arguments], catch_exceptions=False)

    return run


def port_found(run: Run) -> str:
    (found,) = (
        each for each in json.loads(run("doctor", "--json").stdout) if each["area"] == "port"
    )
    assert found["ok"]
    return found["finding"]


@pytest.mark.e2e
@pytest.mark.timeout(60)
def test_every_command_names_the_port_of_the_server_that_runs(run: Run, tmp_path: Path) -> None:
    """Whose port is in a variable that this shell does not have."""
    toml = f'[storage]\ndirectory = "{tmp_path / "var"}"\n[deck]\ntoken = "{DECK_TOKEN}"\n'
    server = Server(tmp_path, toml + "[mcp_server]\nport = 1\n")
    with running(server, MEAD_MCP_SERVER__PORT=str(server.port)):
        url = f"http://127.0.0.1:{server.port}"
        assert run("deck", "link").stdout.startswith(f"{url}/deck/#code=")
        assert f"add --transport http mead {url}/mcp" in run("mcp", "config").stdout
        assert port_found(run) == (
            f"Mead listens on {url}; the settings of this shell say port 4040"
        )


def test_a_server_on_the_port_of_the_settings_needs_no_more_words(run: Run, tree) -> None:
    with Mead(tree) as mead:
        mead.listener = Listener("https", "::", 4040)
        assert port_found(run) == "Mead listens on https://[::1]:4040"
        assert run("deck", "link").stdout.startswith("https://[::1]:4040/deck/#code=")
        assert "https://[::1]:4040/mcp" in run("mcp", "config").stdout


def test_a_process_that_holds_the_directory_and_does_not_listen_leaves_it_to_the_settings(
    run: Run, tree
) -> None:
    tree["mcp_server"]["port"] = 4747
    settings = Settings.build(tree)
    with Mead(tree):
        assert links.running(settings) is None
        assert links.base_url(settings) == "http://127.0.0.1:4747"
        assert "http://127.0.0.1:4747/deck/" in run("deck", "link").stdout


def test_without_a_server_the_settings_count(run: Run, tree) -> None:
    tree["mcp_server"]["port"] = 4747
    assert "http://127.0.0.1:4747/deck/" in run("deck", "link").stdout
    assert "http://127.0.0.1:4747/mcp" in run("mcp", "config").stdout
