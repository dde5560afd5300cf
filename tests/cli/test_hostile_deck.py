"""`flask mead chat --url` against a deck that closes, vanishes or says what no deck says."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from mead.cli.deck_chat import chat_at
from mead.deck.closing import LOST
from tests.helpers.deck_fake import (
    SNAPSHOT,
    TURN_ID,
    FakeDeck,
    Visit,
    answer,
    message,
    prompt,
    serving,
)
from tests.helpers.terminal import ROOT, Terminal


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`typed(text)`: what standard input holds."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def chat(fake: FakeDeck) -> None:
    chat_at(fake.url, "token", None, None)


def leave(code: int, reason: str = "") -> Callable[[Visit], None]:
    """A visit that ends so while a turn runs."""

    def visit(ws: Visit) -> None:
        ws.welcome()
        ws.tell(message("prompt.accepted", prompt(ws.hear_prompt()), 1))
        ws.tell(message("text.delta", {"turn_id": TURN_ID, "text": "begun"}, 2))
        if code != LOST:
            ws.close(code, reason)

    return visit


def finish(ws: Visit) -> None:
    """The end of that turn."""
    ws.welcome(last_sequence=4)
    value = {"turn_id": TURN_ID, "name": "tokens_out", "value": 1}
    ws.tell(message("text.delta", {"turn_id": TURN_ID, "text": " and done"}, 3))
    ws.tell(message("metric.updated", value, 4))
    ws.hear()


@pytest.mark.parametrize("code", [1001, LOST, 1011, 1013, 4401, 4409])
def test_after_this_code_the_answer_goes_on(
    typed: Any, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    typed("hi\n")
    with serving(FakeDeck(leave(code), finish)) as fake:
        chat(fake)
    assert "begun and done" in capsys.readouterr().out
    assert fake.came == 2


@pytest.mark.parametrize("code", [1000, 4404])
def test_after_this_code_the_conversation_is_gone(
    typed: Any, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    typed("hi\nmore\n")
    with serving(FakeDeck(leave(code))) as fake:
        chat(fake)
    assert "the conversation is gone" in capsys.readouterr().err
    assert fake.came == 1


@pytest.mark.parametrize("code", [1002, 1007, 1008, 1009])
def test_after_this_code_the_person_is_told_why(typed: Any, code: int) -> None:
    typed("hi\n")
    told = pytest.raises(click.ClickException, match=rf"closed the socket: {code} \\u202eno")
    with serving(FakeDeck(leave(code, "\u202eno"))) as fake, told:
        chat(fake)
    assert fake.came == 1


def test_a_lost_connection_while_the_conversation_is_shown_is_no_end(
    typed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def break_off(ws: Visit) -> None:
        ws.welcome(last_sequence=2)
        ws.tell(message("prompt.accepted", prompt("m-1"), 1))
        ws.close(1013, "too slow")

    def go_on(ws: Visit) -> None:
        ws.welcome(last_sequence=2)
        ws.tell(message("text.delta", {"turn_id": TURN_ID, "text": "said before"}, 2))
        ws.hear()

    typed("")
    with serving(FakeDeck(break_off, go_on)) as fake:
        chat(fake)
    assert "> hi" in (shown := capsys.readouterr().out)
    assert "said before" in shown


def test_an_answer_reaches_the_server_although_the_connection_was_lost(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("hi\n")
    request = {
        "request_id": "44444444-4444-4444-8444-444444444444",
        "turn_id": TURN_ID,
        "prompt": "which?",
        "options": ["tea", "mead"],
        "expires_at": "",
    }
    said: list[Any] = []

    def ask(ws: Visit) -> None:
        ws.welcome()
        ws.tell(message("prompt.accepted", prompt(ws.hear_prompt()), 1))
        ws.tell(message("choice.requested", request, 2))
        ws.close(1001, "idle")

    def listen(ws: Visit) -> None:
        ws.welcome(last_sequence=2)
        said.append(ws.hear())
        value = {"turn_id": TURN_ID, "name": "tokens_out", "value": 1}
        ws.tell(message("metric.updated", value, 3))
        ws.hear()

    monkeypatch.setattr(
        "mead.cli.terminal.TerminalInteraction.choose", lambda _, prompt, options: options[1]
    )
    with serving(FakeDeck(ask, listen)) as fake:
        chat(fake)
    payload = {"request_id": request["request_id"], "option": "mead"}
    assert said == [{"type": "choice.respond", "payload": payload}]


HOSTILE: dict[str, bytes] = {
    "nothing of JSON": b"\x1b[2J",
    "a list": b"[]",
    "no payload": b'{"type": "text.delta"}',
    "no routing": message("turn.routed", {"turn_id": TURN_ID}, 2),
    "no text": message("text.delta", {"turn_id": TURN_ID}, 2),
    "a text of numbers": message("text.delta", {"turn_id": TURN_ID, "text": 5}, 2),
    "no reason": message("turn.failed", {"turn_id": TURN_ID}, 2),
    "no card": message("tool_call.started", {"turn_id": TURN_ID}, 2),
    "no status": message("tool_call.finished", {"turn_id": TURN_ID}, 2),
    "no request": message("permission.requested", {"turn_id": TURN_ID}, 2),
    "options that are none": message("choice.requested", {"turn_id": TURN_ID, "options": 5}, 2),
    "no level": message("policy.updated", {}, 2),
    "a tool that is a list": message("permission.forgotten", {"tool": []}, 2),
    "no name": message("metric.updated", {"turn_id": TURN_ID}, 2),
    "half a snapshot": message("session.snapshot", {**SNAPSHOT, "remembered_tools": None}),
}


@pytest.mark.parametrize("odd", HOSTILE)
def test_what_no_deck_says_ends_the_chat_in_words(typed: Any, odd: str) -> None:
    def visit(ws: Visit) -> None:
        ws.welcome()
        ws.tell(message("prompt.accepted", prompt(ws.hear_prompt()), 1))
        ws.tell(HOSTILE[odd])
        ws.hear()

    typed("hi\n")
    told = pytest.raises(click.ClickException, match="this is no deck of a Mead")
    with serving(FakeDeck(visit)) as fake, told as error:
        chat(fake)
    assert "\x1b" not in error.value.message


def test_a_program_that_is_no_deck_leaves_no_traceback_and_a_status() -> None:
    def visit(ws: Visit) -> None:
        ws.welcome()
        ws.tell(b"{}")

    with serving(FakeDeck(visit)) as fake:
        done = subprocess.run(
            [sys.executable, "-m", "flask", "mead", "chat", "--url", fake.url],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": "/", "MEAD_CHAT_TOKEN": "x" * 40},
            input="hi\n",
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.endswith("Error: this is no deck of a Mead: a frame that is no message\n")
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(60)
def test_ctrl_c_leaves_where_the_server_does_not_come_back(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_text("")
    fake = FakeDeck(lambda _: None)

    def vanish(ws: Visit) -> None:
        ws.welcome()
        fake.tickets = answer(b"", status="503 No")
        ws.hear_prompt()

    fake.visits = [vanish]
    with serving(fake):
        terminal = Terminal(tmp_path, "chat", "--url", fake.url, MEAD_CHAT_TOKEN="x" * 40)
        try:
            terminal.wait_for("> ")
            terminal.type("hi\n")
            terminal.wait_for("the connection is lost")
            terminal.interrupt()
            terminal.wait_for("left without a connection")
            assert terminal.process.wait(20) == 0
        finally:
            terminal.close()
