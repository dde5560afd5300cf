"""What a model, a tool server, a stored file or a deck's server says cannot steer a terminal, nor
have a person allow what they do not see."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent
import pytest
from click import ClickException
from gevent.pool import Pool
from gevent.server import StreamServer

from mead import Mead
from mead.cli.deck_chat import token_for
from mead.cli.terminal import TerminalInteraction
from mead.turn import TurnFacts
from tests.helpers.terminal import Terminal

ESCAPE = "\x1b]0;mine\x07\x1b[2K\u202egpj.sh"
SHOWN = "\\x1b]0;mine\\x07\\x1b[2K\\u202egpj.sh"


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is asked is not there to answer."""
    monkeypatch.setattr(sys, "stdin", None)


@pytest.mark.usefixtures("nobody")
def test_a_person_sees_all_that_they_allow_or_that_there_is_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = {"path": "\u202egpj.sh", "note": "a\u200bb\x9b2K", "text": "x" * 5000, "rm": "-rf"}
    TerminalInteraction(asks=True).permit("files__write", arguments)
    shown = capsys.readouterr().out
    assert '"path": "\\u202egpj.sh"' in shown
    assert '"note": "a\\u200bb\\x9b2K"' in shown
    left_out = len(json.dumps(arguments, ensure_ascii=False, indent=2)) - 2000
    assert shown.endswith(f"x\n... and {left_out} more characters\n")


@pytest.mark.usefixtures("nobody")
def test_arguments_that_are_nested_too_deeply_are_asked_for_without_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    deep: dict[str, object] = {}
    for _ in range(1000):
        deep = {"a": deep}
    assert TerminalInteraction(asks=True).permit("files__write", deep) == "reject_once"
    assert "nested too deeply" in capsys.readouterr().out


def test_where_a_turn_went_and_what_was_called_is_shown_harmless(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = TerminalInteraction(asks=False)
    person.routed(TurnFacts(route="cloud", model=ESCAPE, host=ESCAPE))
    person.text_delta(ESCAPE)
    person.call_finished("c", ESCAPE, "")  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.err.count(SHOWN) == 3
    assert printed.out == SHOWN
    assert not {"\x1b", "\x07", "\u202e"} & set(printed.err + printed.out)


@pytest.mark.timeout(60)
def test_an_export_to_a_terminal_is_shown_harmless_and_one_to_a_file_is_exact(
    tmp_path: Path,
) -> None:
    (tmp_path / "mead.toml").write_text(f'[storage]\ndirectory = "{tmp_path}/var"\n')
    with Mead({"storage": {"directory": str(tmp_path / "var")}}) as mead:
        session_id = mead.start_session()
        mead.submit_turn(session_id, ESCAPE)
    terminal = Terminal(tmp_path, "sessions", "export", session_id, "--format", "markdown")
    try:
        terminal.wait_for(f"{SHOWN}\r\n\r\n## Mead")
        assert not {"\x07", "\u202e"} & set(terminal.shown)
    finally:
        terminal.close()
    exact = ["export", session_id, "--format", "markdown", "--output", str(tmp_path / "out.md")]
    terminal = Terminal(tmp_path, "sessions", *exact)
    assert terminal.process.wait(20) == 0
    terminal.close()
    assert ESCAPE in (tmp_path / "out.md").read_text()


# -- a deck's server -------------------------------------------------------------------------------


@contextmanager
def answering(*pieces: bytes, again: bytes = b"") -> Iterator[int]:
    """The port of an HTTP server that says the same to everyone, `again` without end."""

    def serve(connection: socket.socket, _: object) -> None:
        connection.recv(65_536)
        for piece in pieces:
            connection.sendall(piece)
        while again:
            connection.sendall(again)
            gevent.sleep(0)

    def quiet(connection: socket.socket, address: object) -> None:
        try:
            serve(connection, address)
        except OSError:
            pass  # the client had enough
        finally:
            connection.close()

    server = StreamServer(("127.0.0.1", 0), quiet, spawn=Pool(2))
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop(0)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "answer",
    [b"<html>", b"[]", b'{"token"', b"{}", b"\x1f\x8b\x08compressed"],
)
def test_an_answer_that_is_no_login_is_an_error_in_words(answer: bytes) -> None:
    head = HEAD + b"Content-Length: %d\r\n\r\n" % len(answer)
    with answering(head + answer) as port, pytest.raises(ClickException, match="none of a Mead"):
        token_for(f"http://127.0.0.1:{port}/deck/#code=x", None)


def test_a_login_whose_answer_has_no_end_is_read_to_a_bound() -> None:
    endless = answering(HEAD + b"\r\n", again=b" " * 65_536)
    refused = pytest.raises(ClickException, match="none of a Mead")
    with endless as port, gevent.Timeout(5), refused:
        token_for(f"http://127.0.0.1:{port}/deck/#code=x", None)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://mead.example", True),
        ("http://192.168.1.4:4040", True),
        ("http://127.0.0.1.mead.example", True),
        ("https://mead.example", False),
        ("http://127.0.0.1:4040", False),
        ("http://localhost:4040/deck", False),
        ("http://[::1]:4040", False),
    ],
)
def test_a_token_that_would_travel_in_clear_is_warned_about(
    capsys: pytest.CaptureFixture[str], url: str, warned: bool
) -> None:
    token_for(url, "token")
    assert ("anyone on the way can read this" in capsys.readouterr().err) is warned
