"""`flask mead chat` at a terminal: a pseudo-terminal, a process of its own, a real SIGINT."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.terminal import BOUND_S, Terminal

CONFIG = """
[storage]
directory = "{directory}"

[router.slots.local]
provider = "scripted"
model = "script"
script = [{{ text = "much later", delay_ms = 25000 }}]
"""


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
