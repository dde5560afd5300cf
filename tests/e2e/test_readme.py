"""The README's way: a clone, `make run`, and a first conversation with the embedded model.

The virtual environment is the one of this run (installing it is what `make test` shows); the clone,
its mead.toml, the server, the model and the commands are real.
"""

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gevent
import psutil
import pytest
import requests

from tests.helpers.server import free_port
from tests.helpers.waiting import eventually

ROOT = Path(__file__).parents[2]
VENV = Path(sys.prefix)
BOUND_S = 60.0

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


class Clone:
    """A fresh clone with its own server."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        subprocess.run(["git", "clone", "-q", str(ROOT), str(directory)], check=True)
        (directory / ".venv").symlink_to(VENV)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory.parent),
            "MEAD_MCP_SERVER__PORT": str(self.port),
        }
        self.output = directory.parent / "make-run.txt"
        self.server: subprocess.Popen[bytes] | None = None

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def make_run(self) -> None:
        with self.output.open("wb") as output:
            self.server = subprocess.Popen(
                ["make", "run"],
                cwd=self.directory,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert eventually(self._is_ready, BOUND_S), self.output.read_text()

    def flask(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.directory / ".venv/bin/flask"), "mead", *arguments],
            cwd=self.directory,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=BOUND_S * 2,
            check=False,
        )

    def stop(self) -> None:
        if self.server is None or self.server.poll() is not None:
            return
        family = psutil.Process(self.server.pid).children(recursive=True)
        os.killpg(self.server.pid, signal.SIGINT)
        self.server.wait(BOUND_S)
        _, alive = psutil.wait_procs(family, 5)
        assert alive == []

    def kill(self) -> None:
        assert self.server is not None
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait(BOUND_S)

    def _is_ready(self) -> bool:
        assert self.server is not None
        if self.server.poll() is not None:
            raise AssertionError(self.output.read_text())
        try:
            return requests.get(self.url("/readyz"), timeout=5).ok
        except requests.ConnectionError:
            gevent.sleep(0.1)
            return False


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

    link = re.search(r"http://127\.0\.0\.1:\d+/deck/#code=([\w-]+)", clone.output.read_text())
    assert link
    login = requests.post(clone.url("/deck/login"), json={"code": link[1]}, timeout=5)
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
