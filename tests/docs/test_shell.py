"""Every shell command of the docs, page by page, as its reader would run them."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.docs import sandbox as sandboxes
from tests.docs.blocks import Block, written_in
from tests.docs.sandbox import SLOT, STORAGE, TOKENS, Sandbox, sandbox
from tests.helpers.server import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def shell_of(page: str) -> list[Block]:
    return written_in("sh", page)


# -- README.md -------------------------------------------------------------------------------------


def test_the_readme(tmp_path: Path) -> None:
    start, ask, test, things, port = shell_of("README.md")
    with sandbox(tmp_path, SLOT, STORAGE, TOKENS) as mead:
        mead.run(start)
        assert mead.get("/readyz").ok
        assert "Hello." in mead.run(ask)
        assert test.text == "make test\n"  # this is it
        printed = mead.run(things)
        assert "title" in printed
        mead.stop()
        mead.port = free_port()
        mead.environment["MEAD_MCP_SERVER__PORT"] = "1"  # the command itself says which
        mead.places["4141"] = str(mead.port)
        mead.run(port)
        assert mead.get("/readyz").ok


# -- docs/deployment.md ----------------------------------------------------------------------------


def test_deployment_from_nothing_to_a_server_with_tokens(tmp_path: Path) -> None:
    start, tokens, look = shell_of("docs/deployment.md")[:3]
    storage, settings = written_in("toml", "docs/deployment.md")[:2]
    with sandbox(tmp_path, environment=False) as mead:
        mead.run(start)
        assert "every turn is echoed" in mead.log
        assert mead.get("/healthz").ok
        assert mead.get("/deck/").status_code == 404
        mead.stop()
        mead.run(tokens)
        assert (mead.directory / "mead.env").stat().st_mode & 0o777 == 0o600
        mead.configure(SLOT, storage.text, settings.text)
        printed = mead.run(look)
        assert "FIX" not in printed
        assert "https://mead.example.com/deck/#code=" in printed


def test_deployment_on_heroku(tmp_path: Path) -> None:
    push = shell_of("docs/deployment.md")[3]
    assert push.head == "heroku create my-mead"
    with sandbox(tmp_path) as mead:
        mead.add_history("released")
        mead.run(push)
        given = sandboxes.variables(mead.heroku / "variables")
        dyno = tmp_path / "dyno"
        mead.shell(f"git clone --quiet --branch main {mead.heroku}/git {dyno}")
        mead.directory = dyno
        mead.add_environment()
        (procfile,) = (dyno / "Procfile").read_text().splitlines()
        mead.environment = {"PATH": f"{dyno}/.venv/bin:{os.environ['PATH']}", "HOME": str(dyno)}
        stored = {"MEAD_STORAGE__DIRECTORY": "var"}
        dynos = {"PORT": str(mead.port), "WEB_CONCURRENCY": "4", "DYNO": "web.1"}
        mead.serve(f"exec {procfile.removeprefix('web: ')}", **given, **dynos, **stored)
        assert "WEB_CONCURRENCY=4 is not used: Mead runs one worker" in mead.log
        assert "a Heroku dyno, whose disk is wiped" in mead.log
        key = {"Authorization": f"Bearer {given['MEAD_DECK__TOKEN']}"}
        name = {"Host": "my-mead.herokuapp.com"}
        info = mead.get("/deck/info", headers={**key, **name})
        assert info.json()["slots"]["cloud"]["model"] == "claude-sonnet-5-5"
        assert mead.get("/deck/info", headers=key).status_code == 403
        mead.stop()


def test_deployment_with_systemd(tmp_path: Path) -> None:
    enable = shell_of("docs/deployment.md")[4]
    (storage,) = (
        block for block in written_in("toml", "docs/deployment.md") if "/var/lib" in block.text
    )
    with sandbox(tmp_path) as mead:
        mead.places["/var/lib/mead"] = str(tmp_path / "state")
        mead.configure(SLOT, mead.here(storage.text), TOKENS)
        mead.run(enable)
        assert mead.get("/readyz").ok
        assert (tmp_path / "state" / "mead.lock").exists()
        mead.stop()


# -- docs/operations.md ----------------------------------------------------------------------------


def talk(mead: Sandbox, text: str) -> int:
    """Say that three times in a new conversation; how many there are then."""
    mead.shell(f".venv/bin/flask mead chat <<< $'{text}\\n{text}\\n{text}'")
    return mead.shell(".venv/bin/flask mead sessions list --json").count("session_id")


def test_operations(tmp_path: Path) -> None:
    """A look, a back-up of a running server, a restore of it with a damaged file, an upgrade."""
    look, back_up, restore, check, upgrade, back = shell_of("docs/operations.md")
    with sandbox(tmp_path, SLOT, STORAGE, TOKENS) as mead:
        mead.add_history("older", "newer")
        mead.serve("exec .venv/bin/gunicorn wsgi:app")
        assert talk(mead, "Before") == 1
        assert "mead_ready 1" in mead.run(look).replace(".0", "")

        mead.run(back_up)
        archive = mead.directory / "backup.tar.gz"
        assert archive.stat().st_mode & 0o777 == 0o600
        assert (mead.directory / "backup-mead.toml").exists()
        assert talk(mead, "After") == 2

        mead.stop()
        mead.run(restore)
        (log,) = (mead.directory / "var").glob("*.log")
        data = bytearray(log.read_bytes())
        data[len(data) // 2] ^= 0xFF
        log.write_bytes(data)
        assert "corrupt_history" in mead.run(check)
        assert mead.run(check) == ""

        mead.serve("exec .venv/bin/gunicorn wsgi:app")
        first = mead.server
        mead.run(upgrade)
        assert mead.server is not first
        assert mead.shell("git log -1 --format=%s") == "newer\n"
        mead.run(back)
        assert mead.shell("git log -1 --format=%s") == "Mead\n"
        assert mead.get("/readyz").ok
        shown = mead.shell(f".venv/bin/flask mead sessions history {log.stem}")
        assert 0 < shown.count("Before") < 3


# -- docs/mcp.md, docs/providers.md ----------------------------------------------------------------


def test_mcp(tmp_path: Path) -> None:
    token, call = shell_of("docs/mcp.md")
    with sandbox(tmp_path, SLOT, STORAGE, TOKENS) as mead:
        assert "claude mcp add" in mead.run(token)
        mead.serve("exec .venv/bin/gunicorn wsgi:app")
        assert '"structuredContent"' in mead.run(call)


def test_providers(tmp_path: Path) -> None:
    (install,) = shell_of("docs/providers.md")
    with sandbox(tmp_path) as mead:
        mead.environment["PATH"] = f"{mead.directory}/.venv/bin:{mead.environment['PATH']}"
        assert "Requirement already satisfied: xllamacpp" in mead.run(install)


TESTED: Final = {
    "README.md",
    "docs/deployment.md",
    "docs/mcp.md",
    "docs/operations.md",
    "docs/providers.md",
}
"""The pages whose shell blocks the tests above take, all of them, in order."""
