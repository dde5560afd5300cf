"""`flask mead chat --url`: a terminal on another machine as one more device."""

import os
import subprocess
import sys

import pytest

from mead.control.client import ControlClient
from tests.helpers.server import DECK_TOKEN, ROOT, Server
from tests.helpers.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


def chat(server: Server, *arguments: str, stdin: str, **environ: str):
    """Somewhere else: another directory, no settings."""
    return subprocess.run(
        [sys.executable, "-m", "flask", "mead", "chat", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(server.directory), **environ},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_link_opens_a_conversation_and_the_answer_is_streamed(server):
    code = ControlClient(server.directory / "store").call("deck_code")
    told = chat(server, "--url", server.url(f"/deck/#code={code}"), stdin="stream 3 1\nbye\n")
    assert told.returncode == 0, told.stderr
    assert "0 1 2" in told.stdout
    assert "bye" in told.stdout
    again = chat(server, "--url", server.url(f"/deck/#code={code}"), stdin="hello\n")
    assert again.returncode == 1
    assert "used already or is too old" in again.stderr


def test_a_conversation_is_continued_with_what_was_said_before(server, arrive):
    device = arrive(server)
    device.ask("what was said before")
    told = chat(
        server,
        device.session_id,
        "--url",
        server.url("/"),
        stdin="write\n",
        MEAD_CHAT_TOKEN=DECK_TOKEN,
    )
    assert "> what was said before" in told.stdout
    assert "did not write" in told.stdout, "nobody is there to be asked"
    device.hear_end()
    assert device.of("permission.resolved")[0]["outcome"] == "reject_once"
    assert device.of("permission.resolved")[0]["decided_by_device"] == "terminal"
    assert DECK_TOKEN not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("ftp://x", DECK_TOKEN, "must begin with http"),
        ("http://127.0.0.1:1", DECK_TOKEN, "does not answer"),
        (None, "x" * 40, "unauthorized"),
    ],
)
def test_what_cannot_be_is_said_without_a_traceback(server, url, token, words):
    told = chat(server, "--url", url or server.url(""), stdin="hi\n", MEAD_CHAT_TOKEN=token)
    assert told.returncode != 0
    assert words in told.stderr
    assert "Traceback" not in told.stderr


def test_ctrl_c_cancels_the_turn_and_a_second_one_leaves(server, tmp_path):
    code = ControlClient(server.directory / "store").call("deck_code")
    (tmp_path / "mead.toml").write_text("")
    terminal = Terminal(tmp_path, "chat", "--url", server.url(f"/deck/#code={code}"))
    try:
        terminal.wait_for("> ")
        terminal.type("write\n")
        terminal.wait_for("Let notes__effect run?")
        terminal.type("y\n")
        terminal.wait_for("wrote")
        terminal.wait_for("> ")
        terminal.type("stream 1000 30\n")
        terminal.wait_for("3 ")
        terminal.interrupt()
        terminal.wait_for("cancelled")
        terminal.wait_for("> ")
        terminal.interrupt()
        assert terminal.process.wait(20) == 0
    finally:
        terminal.close()
