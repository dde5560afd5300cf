"""`flask mead mcp config`: what makes the server known to its clients."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mead.cli.mcp_config_command import CLIENTS, mcp_config_command
from mead.config import Settings
from wsgi import create_app

TLS = Path(__file__).parents[1] / "data" / "tls"
TOKEN = "a-token-that-nobody-may-print-0123456789"

Run = Callable[..., str]


@pytest.fixture
def run() -> Run:
    def run(*arguments: str, **server: Any) -> str:
        app = create_app(Settings.build({"mcp_server": server}))
        runner = app.test_cli_runner()
        with app.app_context():  # as `flask` itself does
            result: Result = runner.invoke(mcp_config_command, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return run


def test_every_client_is_told_the_address_and_never_the_token(run: Run) -> None:
    shown = run(token=TOKEN)
    for client in ("Claude Code", "VS Code", "Cursor", "Inspector, with Node 22.19 or later"):
        assert f"# {client}" in shown
    assert shown.count("http://127.0.0.1:4040/mcp") == 5
    assert "export MEAD_MCP_TOKEN" in shown
    assert TOKEN not in shown


def test_as_json_each_client_has_its_own_shape(run: Run) -> None:
    shown = json.loads(run("--json", token=TOKEN))
    assert tuple(shown) == CLIENTS
    assert shown["claude-code"]["command"] == (
        "claude mcp add --transport http mead http://127.0.0.1:4040/mcp"
        ' --header "Authorization: Bearer $MEAD_MCP_TOKEN"'
    )
    assert shown["claude-code"]["content"] == {
        "mcpServers": {
            "mead": {
                "type": "http",
                "url": "http://127.0.0.1:4040/mcp",
                "headers": {"Authorization": "Bearer ${MEAD_MCP_TOKEN}"},
            }
        }
    }
    code = shown["vscode"]["content"]
    assert code["servers"]["mead"]["headers"] == {"Authorization": "Bearer ${input:mead-token}"}
    assert code["inputs"][0]["id"] == "mead-token"
    assert code["inputs"][0]["password"] is True
    assert shown["cursor"]["content"]["mcpServers"]["mead"] == {
        "url": "http://127.0.0.1:4040/mcp",
        "headers": {"Authorization": "Bearer ${env:MEAD_MCP_TOKEN}"},
    }
    assert "--method tools/list" in shown["inspector"]["command"]


def test_one_client_may_be_asked_for_and_another_address_given(run: Run) -> None:
    shown = run("cursor", "--url", "https://mead.example/mcp", token=TOKEN)
    assert "https://mead.example/mcp" in shown
    assert "Claude" not in shown


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ({"address": "0.0.0.0", "port": 80}, "http://127.0.0.1:80/mcp"),
        ({"address": "::1"}, "http://[::1]:4040/mcp"),
        ({"address": "10.1.2.3"}, "http://10.1.2.3:4040/mcp"),
    ],
)
def test_the_address_is_the_one_a_client_here_can_use(
    run: Run, server: dict[str, Any], url: str
) -> None:
    assert f"mead {url} " in run("claude-code", **server)


def test_with_a_certificate_the_clients_are_told_how_to_trust_it(run: Run) -> None:
    files = {"certfile": str(TLS / "cert.pem"), "keyfile": str(TLS / "key.pem")}
    shown = run(token=TOKEN, **files)
    assert "https://127.0.0.1:4040/mcp" in shown
    assert "NODE_EXTRA_CA_CERTS=/path/to/cert.pem" in shown
    assert str(TLS) not in shown


def test_without_a_token_the_user_is_told_to_make_one(run: Run) -> None:
    assert "flask mead token" in run()
    assert "flask mead token" not in run(token=TOKEN)
