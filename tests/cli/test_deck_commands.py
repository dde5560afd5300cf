"""`flask mead deck ...` and what `make run` prints: codes that the server takes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mead import Mead
from mead.cli.setup import hints, prepare
from mead.config import Settings, load_settings
from mead.storage import lock
from tests.helpers.server import DECK_TOKEN
from wsgi import create_app

Run = Callable[..., Result]
LINK = re.compile(r"^(\S+)/deck/#code=([\w-]{22})$", re.MULTILINE)


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    return {"storage": {"directory": str(tmp_path / "var")}, "deck": {"token": DECK_TOKEN}}


@pytest.fixture
def run(tree: dict[str, Any]) -> Run:
    def run(*arguments: str) -> Result:
        runner = create_app(Settings.build(tree)).test_cli_runner()
        return runner.invoke(args=["mead", "deck", *arguments], catch_exceptions=False)

    return run


def code_in(text: str) -> str:
    match = LINK.search(text)
    assert match, text
    return match[2]


def test_a_link_that_the_running_server_made_is_taken_by_it(run, tree):
    with Mead(tree) as mead:
        result = run("link")
        assert result.exit_code == 0
        assert mead.deck().logins.login(code_in(result.stdout)) is not None


def test_a_link_made_before_the_server_runs_is_taken_by_it(run, tree):
    code = code_in(run("link").stdout)
    with Mead(tree) as mead:
        assert mead.deck().logins.login(code) is not None


@pytest.mark.parametrize("runs", [True, False])
def test_revoke_signs_every_browser_out(run, tree, runs):
    with Mead(tree) as mead:
        logins = mead.deck().logins
        token = logins.login(logins.new_code()).token
        code = logins.new_code()
        if runs:
            assert run("revoke").stdout == "1 browser is signed out\n"
    if not runs:
        assert run("revoke").stdout == "1 browser is signed out\n"
    with Mead(tree) as mead:
        assert not mead.deck().logins.matches(token)
        assert mead.deck().logins.login(code) is None


@pytest.mark.parametrize(
    ("listener", "arguments", "base"),
    [
        ({}, (), "http://127.0.0.1:4040"),
        ({"address": "0.0.0.0", "port": 80}, (), "http://127.0.0.1:80"),
        ({"address": "::1"}, (), "http://[::1]:4040"),
        ({}, ("--url", "https://mead.example/chat/"), "https://mead.example/chat"),
    ],
)
def test_the_link_is_how_the_server_is_reached(run, tree, listener, arguments, base):
    tree["mcp_server"] = listener
    match = LINK.search(run("link", *arguments).stdout)
    assert match
    assert match[1] == base


def test_without_a_deck_or_a_directory_there_is_no_link(run, tree):
    del tree["storage"]
    assert "storage.directory" in run("link").stderr
    tree["deck"] = {}
    result = run("link")
    assert result.exit_code == 1
    assert "deck.token is not set" in result.stderr


# -- make run --------------------------------------------------------------------------------------


def test_the_first_run_keeps_a_token_of_its_own_and_prints_a_link(tmp_path):
    prepare(tmp_path, {})
    token_file = tmp_path / "var" / "deck-token"
    assert token_file.stat().st_mode & 0o777 == 0o600
    assert token_file.parent.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "mead.toml").stat().st_mode & 0o777 == 0o600
    settings = load_settings({}, tmp_path)
    text = hints(settings)
    token = token_file.read_text().strip()
    assert settings.deck.token.matches(token)
    assert token not in text
    with Mead(settings) as mead:
        assert mead.deck().logins.login(code_in(text.replace("  http", "http"))) is not None


def test_a_second_run_changes_nothing(tmp_path):
    prepare(tmp_path, {})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    prepare(tmp_path, {})
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_file_of_an_earlier_version_gets_what_it_lacks(tmp_path, capsys):
    prepare(tmp_path, {})
    path = tmp_path / "mead.toml"
    whole = path.read_text()
    earlier = whole[: whole.index("# Who has the token")].rstrip() + "\n"
    path.write_text(earlier)
    prepare(tmp_path, {})
    assert path.read_text() == whole
    assert "/deck/ is now served" in capsys.readouterr().out


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "mead.toml").write_text("[runtime]\n")
    prepare(tmp_path, {})
    assert (tmp_path / "mead.toml").read_text() == "[runtime]\n"
    assert not (tmp_path / "var").exists()
    assert "set deck.token to turn it on" in hints(load_settings({}, tmp_path))


def test_a_wiped_directory_gets_a_new_token(tmp_path):
    prepare(tmp_path, {})
    (tmp_path / "var" / "deck-token").unlink()
    prepare(tmp_path, {})
    assert load_settings({}, tmp_path).deck.token is not None


def test_a_directory_that_stays_locked_only_costs_the_link(tmp_path):
    prepare(tmp_path, {})
    settings = load_settings({}, tmp_path)
    with lock.acquire(tmp_path / "var"):
        assert "it asks for deck.token" in hints(settings)
