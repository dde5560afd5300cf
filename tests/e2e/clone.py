"""A fresh clone of this repository with a server of its own, as a newcomer has it.

The virtual environment is the one of this run (installing it is what `make test` shows); the clone,
its mead.toml, the server, the model and the commands are real.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import gevent
import psutil
import requests

from tests.helpers.server import free_port
from tests.helpers.waiting import eventually
from tests.helpers.with_us import WITH_US

ROOT: Final = Path(__file__).parents[2]
VENV: Final = Path(sys.prefix)
BOUND_S: Final = 60.0
LINK: Final = re.compile(r"http://127\.0\.0\.1:\d+/deck/#code=([\w-]+)")


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
                [*WITH_US, "make", "run"],
                cwd=self.directory,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert eventually(self._is_ready, BOUND_S), self.output.read_text()

    def link(self) -> re.Match[str]:
        """The link to the page that the start printed; its code is the first group."""
        found = LINK.search(self.output.read_text())
        assert found, self.output.read_text()
        return found

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
