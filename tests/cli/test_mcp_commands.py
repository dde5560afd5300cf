"""`flask mead mcp list|call|import`, with real servers behind them."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mead.config import Settings
from tests.helpers.mcp_http_fake import FakeHttp, Reply
from tests.helpers.mcp_settings import FAKE, PYTHON
from wsgi import create_app

Run = Callable[..., Result]
ARGUMENTS = [*PYTHON[1:], FAKE, '{"pages": [["echo", "error", "slow"]]}']


@pytest.fixture
def tree() -> dict[str, Any]:
    server = {
        "name": "fake",
        "transport": "stdio",
        "command": PYTHON[0],
        "arguments": ARGUMENTS,
        "tools": {"echo": "read", "error": "effect"},
    }
    return {"mcp": {"servers": [server]}}


@pytest.fixture
def run(tree: dict[str, Any]) -> Run:
    def run(*arguments: str) -> Result:
        runner = create_app(Settings.build(tree)).test_cli_runner()
        return runner.invoke(args=["mead", "mcp", *arguments], catch_exceptions=False)

    return run


def test_list_shows_what_is_granted_and_what_is_not(run: Run) -> None:
    result = run("list")
    assert result.exit_code == 0
    assert "fake    stdio      ready  2025-11-25  fake 9" in result.stdout
    assert "fake__echo  read" in result.stdout
    assert "fake__error  effect" in result.stdout
    assert "fake offers without being granted: slow" in result.stdout


def test_list_as_json(run: Run) -> None:
    (server,) = json.loads(run("list", "--json").stdout)
    assert server["state"] == "ready"
    assert server["tools"] == [
        {"name": "fake__echo", "class": "read"},
        {"name": "fake__error", "class": "effect"},
    ]
    assert server["not_granted"] == ["slow"]


def test_list_ends_with_1_when_a_server_is_dead_or_a_tool_is_missing(
    run: Run, tree: dict[str, Any]
) -> None:
    tree["mcp"]["servers"][0]["tools"]["ghost"] = "read"
    dead = {"name": "dead", "transport": "stdio", "command": "no-such-command"}
    tree["mcp"]["servers"].append(dead)
    result = run("list")
    assert result.exit_code == 1
    assert "fake__ghost  is granted but not offered" in result.stdout
    assert "dead: cannot_start: there is no command 'no-such-command'" in result.stdout


def test_names_that_a_server_made_up_cannot_steer_the_terminal(
    run: Run, tree: dict[str, Any]
) -> None:
    pages = {"pages": [["echo", "error", "\x1b]0;mine\x07\nfake__all  read"]]}
    tree["mcp"]["servers"][0]["arguments"] = [*PYTHON[1:], FAKE, json.dumps(pages)]
    result = run("list")
    assert "granted: \\x1b]0;mine\\x07\\x0afake__all  read" in result.stdout
    assert "\x1b" not in result.stdout
    escape = run("call", "fake__echo", "--arguments", json.dumps({"text": "\x1b[2J"}))
    assert escape.stdout == "\\x1b[2J\n"


def test_list_without_servers(run: Run, tree: dict[str, Any]) -> None:
    tree["mcp"]["servers"] = []
    result = run("list")
    assert result.exit_code == 0
    assert "No server is configured" in result.stdout


def test_call_prints_the_result(run: Run) -> None:
    result = run("call", "fake__echo", "--arguments", '{"text": "hello"}')
    assert (result.exit_code, result.stdout) == (0, "hello\n")


def test_call_of_a_tool_that_fails_ends_with_1(run: Run) -> None:
    result = run("call", "fake__error")
    assert (result.exit_code, result.stderr) == (1, "it went wrong\n")


@pytest.mark.parametrize("name", ["fake__slow", "nobody__echo", "echo"])
def test_call_of_a_tool_that_is_not_granted_calls_nobody_and_names_those_that_are(
    run: Run, tree: dict[str, Any], name: str
) -> None:
    tree["mcp"]["servers"][0]["command"] = "no-such-command"  # who connects would fail otherwise
    result = run("call", name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "invalid_input: mcp.servers grants no tool of that name;"
        " it grants fake__echo, fake__error\n"
    )


def test_call_where_nothing_is_granted_says_where_to_read(run: Run, tree: dict[str, Any]) -> None:
    tree["mcp"]["servers"] = []
    assert "docs/tools.md" in run("call", "fake__echo").stderr


def test_call_of_one_among_many_names_twenty(run: Run, tree: dict[str, Any]) -> None:
    tree["mcp"]["servers"][0]["tools"] = {f"tool-{number}": "read" for number in range(21)}
    shown = run("call", "fake__echo").stderr
    assert "fake__tool-19, ..." in shown
    assert "fake__tool-20" not in shown


@pytest.mark.parametrize("arguments", ["{", "[]"])
def test_call_refuses_arguments_that_are_no_object(run: Run, arguments: str) -> None:
    result = run("call", "fake__echo", "--arguments", arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("invalid_input: --arguments")


# -- import ----------------------------------------------------------------------------------------


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """A file as other clients keep it."""
    servers = {
        "My Server!": {
            "command": PYTHON[0],
            "args": ARGUMENTS,
            "env": {"API_KEY": "sk-12345678", "HOME_DIR": "${HOME}"},
        },
        "gone": {"command": "no-such-command", "args": []},
    }
    file = tmp_path / "others.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_import_prints_settings_that_grant_nothing(run: Run, others: Path) -> None:
    result = run("import", str(others))
    assert result.exit_code == 0
    first, second = tomllib.loads(result.stdout)["mcp"]["servers"]
    assert first == {
        "name": "my-server",
        "transport": "stdio",
        "command": PYTHON[0],
        "arguments": ARGUMENTS,
        "environment": {"API_KEY": "env:MY_SERVER_API_KEY", "HOME_DIR": "env:HOME"},
        "tools": {},
    }
    assert second["tools"] == {}
    assert '# echo = "effect"  # The tool echo.' in result.stdout
    assert "could not be asked for its tools: cannot_start" in result.stdout
    assert "sk-12345678" not in result.output


def test_import_keeps_the_directory_of_a_server(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    file = tmp_path / "others.json"
    entry = {"command": "./serve", "args": [], "cwd": str(own)}
    (own / "serve").write_text(f"#!/bin/sh\nexec {PYTHON[0]} -I -S {FAKE}\n")
    (own / "serve").chmod(0o755)
    file.write_text(json.dumps({"mcpServers": {"local": entry}}))
    result = run("import", str(file))
    (server,) = tomllib.loads(result.stdout)["mcp"]["servers"]
    assert server["directory"] == str(own)
    assert Settings.build({"mcp": {"servers": [server]}}).mcp.servers[0].directory == own


def test_what_import_prints_is_taken_by_mead(run: Run, others: Path) -> None:
    printed = run("import", str(others), "--values").stdout
    granted = printed.replace('# echo = "effect"', 'echo = "effect"')
    settings = Settings.build(tomllib.loads(granted), environ={"HOME": "/home/me"})
    server = settings.mcp.servers[0]
    assert dict(server.tools) == {"echo": "effect"}
    assert server.environment["API_KEY"].reveal() == "sk-12345678"
    assert server.environment["HOME_DIR"].reveal() == "/home/me"


def test_import_of_a_server_over_http(run: Run, tmp_path: Path) -> None:
    fake = FakeHttp()
    fake.on["POST"] = lambda heard: (
        None if heard.headers.get("authorization") == "Bearer t0ken" else Reply(401)
    )
    with fake.serving() as port:
        file = tmp_path / "mcp.json"
        url = f"http://127.0.0.1:{port}/mcp"
        headers = {"Authorization": "Bearer t0ken"}
        file.write_text(json.dumps({"servers": {"web": {"url": url, "headers": headers}}}))
        result = run("import", str(file))
    (server,) = tomllib.loads(result.stdout)["mcp"]["servers"]
    assert server["url"] == url
    assert server["headers"] == {"Authorization": "env:WEB_AUTHORIZATION"}
    assert '# echo = "effect"' in result.stdout
    assert "t0ken" not in result.output


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("nonsense", "it is not JSON"),
        ("{}", 'there is no server under "mcpServers"'),
        ('{"mcpServers": {"x": {}}}', "the server 'x' has neither a command nor a url"),
    ],
)
def test_import_says_what_is_wrong_with_a_file(
    run: Run, tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "others.json"
    file.write_text(content)
    result = run("import", str(file))
    assert result.exit_code == 1
    assert words in result.stderr


# -- doctor ----------------------------------------------------------------------------------------


def test_doctor_checks_every_server(tree: dict[str, Any]) -> None:
    servers = tree["mcp"]["servers"]
    servers.append({**servers[0], "name": "short", "tools": {"ghost": "read"}})
    servers.append({"name": "dead", "transport": "stdio", "command": "no-such-command"})
    runner = create_app(Settings.build(tree)).test_cli_runner()
    result = runner.invoke(args=["mead", "doctor", "--json"], catch_exceptions=False)
    found = {check["area"]: (check["ok"], check["finding"]) for check in json.loads(result.stdout)}
    assert found["tool server fake"] == (True, "offers its 2 granted tools")
    assert found["tool server short"] == (False, "does not offer what the settings list: ghost")
    assert found["tool server dead"] == (
        False,
        "cannot_start: there is no command 'no-such-command'",
    )
