"""A command at a terminal: a pseudo-terminal, a process of its own, a real SIGINT."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.helpers.with_us import WITH_US

ROOT: Final = Path(__file__).parents[2]
BOUND_S: Final = 20.0


class Terminal:
    """A program on a pseudo-terminal, and what it has shown so far."""

    def __init__(self, directory: Path, *arguments: str, **environ: str) -> None:
        self.handle, inside = pty.openpty()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "MEAD_CONFIG": str(directory / "mead.toml"),
            "FLASK_APP": str(ROOT / "wsgi.py"),
            "PYTHONPATH": str(ROOT),
            **environ,
        }
        self.process = subprocess.Popen(
            [*WITH_US, sys.executable, "-m", "flask", "mead", *arguments],
            cwd=directory,
            env=environment,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read until `text` was shown."""
        limit = time.monotonic() + BOUND_S
        while text not in self.shown:
            left = limit - time.monotonic()
            assert left > 0, f"{text!r} was not shown in {self.shown!r}"
            ready, _, _ = select.select([self.handle], [], [], left)
            if ready:
                self.shown += os.read(self.handle, 4096).decode(errors="replace")

    def type(self, text: str) -> None:
        self.shown = ""
        os.write(self.handle, text.encode())

    def interrupt(self) -> None:
        """What a terminal does at Ctrl-C."""
        self.shown = ""
        self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(BOUND_S)
        os.close(self.handle)
