"""`flask mead chat` at a terminal: a pseudo-terminal, a process of its own, a real SIGINT."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOUND_S = 20.0

CONFIG = """
[storage]
directory = "{directory}"

[router.slots.local]
provider = "scripted"
model = "script"
script = [{{ text = "much later", delay_ms = 25000 }}]
"""


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
            [sys.executable, "-m", "flask", "mead", *arguments],
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


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "mead.toml").write_text(CONFIG.format(directory=tmp_path / "store"))
    return tmp_path


@pytest.fixture
def chat(directory: Path) -> Iterator[Terminal]:
    terminal = Terminal(directory, "chat")
    yield terminal
    terminal.close()


@pytest.mark.timeout(60)
def test_ctrl_c_cancels_the_turn_and_a_second_one_leaves(chat: Terminal, directory: Path) -> None:
    chat.wait_for("Ctrl-C cancels an answer, Ctrl-D leaves")
    chat.wait_for("> ")
    chat.type("hello\n")
    chat.wait_for("[local] script")
    chat.interrupt()
    chat.wait_for("[cancelled]")
    chat.wait_for("> ")
    chat.interrupt()
    assert chat.process.wait(BOUND_S) == 0
    assert list((directory / "store").glob("*.log")), "and not in the working tree"


@pytest.mark.timeout(60)
def test_ctrl_c_ends_ask_without_a_traceback(directory: Path) -> None:
    terminal = Terminal(directory, "ask", "hello")
    try:
        terminal.wait_for("[local] script")
        terminal.interrupt()
        terminal.wait_for("Aborted!")
        assert "Traceback" not in terminal.shown
        assert "KeyboardInterrupt" not in terminal.shown
    finally:
        terminal.close()


@pytest.mark.timeout(60)
def test_ctrl_d_leaves(chat: Terminal) -> None:
    chat.wait_for("> ")
    chat.type("\x04")
    assert chat.process.wait(BOUND_S) == 0
