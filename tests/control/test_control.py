"""The control socket: every call of the library, made from outside the process that runs it."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from mead import Mead, errors
from mead.control import wire
from mead.control.client import ControlClient
from mead.control.lines import LineReader
from mead.protocols import ToolUse, TurnContext
from mead.turn import TurnFacts
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually

USE = ToolUse(
    call_id="c",
    server="files",
    tool="write",
    name="files__write",
    kind="effect",
    arguments={"a": 1},
)


class Asking:
    """A handler that shows and asks everything that an Interaction offers."""

    def handle_turn(self, history: Any, text: str, context: TurnContext) -> str:
        person = context.interaction
        assert person is not None
        person.routed(TurnFacts(route="local", model="m"))
        person.text_delta("one ")
        allowed = person.authorize(USE, lambda: None)
        person.call_finished("c", "ok" if allowed else "denied", "done")
        choice = person.choose("which?", ("red", "blue"))
        return f"{allowed} {choice}"


class Person:
    def __init__(self, *, allow: bool = True, choice: str | None = "blue") -> None:
        self.seen: list[Any] = []
        self.allow = allow
        self.choice = choice

    def routed(self, facts: TurnFacts) -> None:
        self.seen.append(("routed", facts.route, facts.model))

    def text_delta(self, text: str) -> None:
        self.seen.append(("text", text))

    def authorize(self, use: ToolUse, cancel: Any) -> bool:
        self.seen.append(("authorize", use))
        return self.allow

    def call_finished(self, call_id: str, status: Any, summary: str) -> None:
        self.seen.append(("finished", call_id, status, summary))

    def choose(self, prompt: str, options: tuple[str, ...]) -> str | None:
        self.seen.append(("choose", prompt, options))
        return self.choice


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def mead(directory: Path, puppet: Puppet) -> Iterator[Mead]:
    settings = {"storage": {"directory": str(directory)}}
    with Mead(settings, handlers={"puppet": puppet, "asking": Asking()}) as running:
        yield running


@pytest.fixture
def client(mead: Mead, directory: Path) -> ControlClient:
    found = ControlClient.find(directory)
    assert found is not None
    return found


def test_every_call_travels(mead: Mead, client: ControlClient) -> None:
    session_id = client.start_session(handler="puppet", turn_timeout_ms=5000)
    receipt = client.submit(session_id, "hello")
    assert receipt.output == "hello"
    assert client.history(session_id) == mead.history(session_id) == [receipt.turn]
    assert client.set_title(session_id, " Greeting ") == "Greeting"
    assert client.list_sessions() == mead.list_sessions()
    assert client.list_sessions()[0].title == "Greeting"
    assert client.status() == mead.status()
    assert client.export_session(session_id) == mead.export_session(session_id)
    assert client.usage(recent=5) == mead.usage(recent=5)
    before, after = client.compact_session(session_id)
    assert after < before
    client.stop_session(session_id)
    assert client.resume_session(session_id) == session_id
    client.delete_session(session_id)
    assert client.list_sessions() == []


def test_errors_arrive_as_they_were_raised(mead: Mead, client: ControlClient) -> None:
    with pytest.raises(errors.SessionNotFound):
        client.history("nope")
    session_id = client.start_session(handler="puppet")
    with pytest.raises(errors.InvalidRoute, match="auto, local, cloud"):
        client.submit(session_id, "x", route="moon")
    with pytest.raises(errors.TurnFailed) as failed:
        client.submit(session_id, "fail")
    assert failed.value.reason == "provider_error"
    with pytest.raises(errors.AlreadyRunning):
        client.resume_session(session_id)
    with pytest.raises(errors.SessionNotFound):
        client.session_usage(session_id)


def test_a_person_is_shown_and_asked_through_the_socket(client: ControlClient) -> None:
    session_id = client.start_session(handler="asking")
    person = Person()
    assert client.submit(session_id, "go", interaction=person).output == "True blue"
    assert person.seen == [
        ("routed", "local", "m"),
        ("text", "one "),
        ("authorize", USE),
        ("finished", "c", "ok", "done"),
        ("choose", "which?", ("red", "blue")),
    ]
    no = Person(allow=False, choice="green")
    assert client.submit(session_id, "go", interaction=no).output == "False None"


def test_a_client_that_goes_away_is_answered_no_and_its_turn_goes_on(
    mead: Mead, client: ControlClient
) -> None:
    session_id = client.start_session(handler="asking")

    class Leaving(Person):
        def authorize(self, use: ToolUse, cancel: Any) -> bool:
            raise SystemExit

    with pytest.raises(SystemExit):
        client.submit(session_id, "go", interaction=Leaving())
    assert eventually(lambda: mead.history(session_id)[0].output == "False None")


def test_a_turn_can_be_cancelled_from_another_connection(
    client: ControlClient, puppet: Puppet
) -> None:
    session_id = client.start_session(handler="puppet")
    caller = gevent.spawn(client.submit, session_id, "hold")
    assert eventually(lambda: puppet.started)
    client.cancel_turn(session_id)
    with pytest.raises(errors.TurnCancelled):
        caller.get(timeout=5)


def test_the_socket_is_for_its_user_alone_and_goes_with_its_process(
    mead: Mead, directory: Path
) -> None:
    path = directory / wire.SOCKET_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    mead.stop()
    assert not path.exists()
    assert ControlClient.find(directory) is None


def test_a_socket_left_by_a_killed_process_is_in_nobodys_way(directory: Path) -> None:
    directory.mkdir()
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(directory / wire.SOCKET_NAME))
    left.close()
    assert ControlClient.find(directory) is None
    with Mead({"storage": {"directory": str(directory)}}):
        assert ControlClient.find(directory) is not None


def test_a_directory_with_a_very_long_name_has_its_socket_too(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120) / "var"
    directory.parent.mkdir()
    with Mead({"storage": {"directory": str(directory)}}):
        client = ControlClient.find(directory)
        assert client is not None
        assert client.status()["ready"]


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"not json\n",
        b"[1]\n",
        b"\xff\xfe\n",
        b"",
        b"{",
        b'{"call": 7}\n',
        b'{"call": "submit", "arguments": null}\n',
        b'{"call": "status", "arguments": [1]}\n',
        b'{"call": "stop"}\n',
    ],
)
def test_a_broken_request_hurts_nobody(mead: Mead, directory: Path, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(directory / wire.SOCKET_NAME))
        raw.settimeout(5)
        raw.sendall(line)
        raw.shutdown(socket.SHUT_WR)
        answer = LineReader(raw).read()
    assert answer is None or b'"error"' in answer
    client = ControlClient.find(directory)
    assert client is not None
    assert client.status()["ready"]


def test_a_call_with_wrong_arguments_shows_no_traceback(mead: Mead, client: ControlClient) -> None:
    with pytest.raises(errors.MeadError) as refused:
        client.call("history", nonsense=1)
    assert "Traceback" not in str(refused.value)
    assert "nonsense" not in str(refused.value)


def test_a_server_that_dies_before_it_answers_is_said_so(directory: Path) -> None:
    directory.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(directory / wire.SOCKET_NAME))
    listener.listen(1)

    def die() -> None:
        connection, _ = listener.accept()
        connection.recv(10)
        connection.close()

    server = gevent.spawn(die)
    with pytest.raises(errors.PersistenceError, match="went away"):
        ControlClient(directory).status()
    server.join(5)
    listener.close()
    os.unlink(directory / wire.SOCKET_NAME)  # noqa: PTH108


def test_a_mead_that_is_gone_is_said_so_at_every_call(mead: Mead, client: ControlClient) -> None:
    session_id = client.start_session(handler="puppet")
    mead.stop()
    for call in (
        client.status,
        lambda: client.submit(session_id, "x"),
        lambda: client.delete_session(session_id),
    ):
        with pytest.raises(errors.PersistenceError, match="went away"):
            call()


def test_a_command_that_holds_the_directory_waits_for_the_turns_of_others(
    mead: Mead, client: ControlClient, puppet: Puppet
) -> None:
    session_id = client.start_session(handler="puppet")
    other = gevent.spawn(client.submit, session_id, "hold")
    assert eventually(lambda: puppet.started)
    finishing = gevent.spawn(mead.finish_commands, 5000)
    gevent.sleep(0.05)
    assert not finishing.ready()
    puppet.release.set()
    assert other.get(timeout=5).output == "hold"
    finishing.get(timeout=5)


def test_a_socket_that_never_answers_is_no_mead(directory: Path) -> None:
    directory.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(directory / wire.SOCKET_NAME))
    listener.listen(5)
    try:
        assert ControlClient.find(directory, timeout_s=0.05) is None
    finally:
        listener.close()
        os.unlink(directory / wire.SOCKET_NAME)  # noqa: PTH108


def test_something_else_in_the_sockets_place_is_an_error_that_says_so(directory: Path) -> None:
    (directory / wire.SOCKET_NAME).mkdir(parents=True)
    with pytest.raises(errors.PersistenceError, match=r"control\.sock"):
        Mead({"storage": {"directory": str(directory)}}).start()
    (directory / wire.SOCKET_NAME).rmdir()
    with Mead({"storage": {"directory": str(directory)}}) as mead:
        assert mead.status()["ready"]
