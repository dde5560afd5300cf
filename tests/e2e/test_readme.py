"""The README's way: a clone, `make run`, and a first conversation with the embedded model."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.e2e.clone import ROOT, Clone
from tests.page.modules import install, node

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
CHROMIUM = os.environ.get("MEAD_CHROMIUM") or shutil.which("chromium")


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    made = Clone(tmp_path / "mead")
    yield made
    made.stop()


def test_a_newcomer_gets_from_clone_to_answer(clone: Clone) -> None:
    clone.make_run()
    config = clone.directory / "mead.toml"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert 'provider = "embedded"' in config.read_text()
    assert ".venv/bin/flask mead ask" in clone.output.read_text()

    login = requests.post(clone.url("/deck/login"), json={"code": clone.link()[1]}, timeout=5)
    key = {"Authorization": f"Bearer {login.json()['token']}"}
    assert requests.get(clone.url("/deck/"), timeout=5).text.startswith("<!doctype html>")
    assert requests.get(clone.url("/deck/info"), headers=key, timeout=5).json()["slots"]["local"]

    asked = clone.flask("ask", "Say hello")
    assert asked.returncode == 0, asked.stderr
    assert any(letter.isalpha() for letter in asked.stdout)
    assert "local" in asked.stderr

    talked = clone.flask("chat", stdin="Say hello\nAnd again\n")
    assert talked.returncode == 0, talked.stderr
    assert "conversation" in talked.stderr
    listed = clone.flask("sessions", "list", "--json")
    assert listed.stdout.count("session_id") == 1

    status = subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=clone.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    left = [line for line in status.stdout.splitlines() if ".venv" not in line]
    assert left == []  # what a run leaves is ignored by git


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing")
def test_a_newcomer_gets_from_the_printed_link_to_a_streamed_answer_in_the_page(
    clone: Clone,
) -> None:
    clone.make_run()
    ran = subprocess.run(
        [
            str(node()),
            "--test",
            "--test-reporter=spec",
            str(Path(__file__).with_name("newcomer.mjs")),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "MEAD_LINK": clone.link()[0],
            "MEAD_PAGE_MODULES": str(install()),
            "MEAD_CHROMIUM": str(CHROMIUM),
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    sys.stdout.write(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "pass 1" in ran.stdout


def test_a_conversation_outlives_a_kill_of_everything(clone: Clone) -> None:
    clone.make_run()
    assert clone.flask("chat", stdin="Remember the number seven\n").returncode == 0
    before = clone.flask("sessions", "list", "--json").stdout
    clone.kill()
    clone.make_run()
    after = clone.flask("sessions", "list", "--json").stdout
    assert before.count("session_id") == after.count("session_id") == 1
    session_id = after.split('"session_id": "')[1][:36]
    shown = clone.flask("sessions", "history", session_id)
    assert "Remember the number seven" in shown.stdout
    assert '"turns": 1' in clone.flask("usage", "--json").stdout
