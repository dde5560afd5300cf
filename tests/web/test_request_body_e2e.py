"""A body costs its sender more than the server, whatever it is wrapped in: a real gunicorn."""

import itertools
from collections.abc import Iterator
from contextlib import closing, suppress

import gevent
import pytest

from tests.helpers.server import MCP_TOKEN, Server, receive_answer, running, tokens_toml

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

HOST = b"Host: localhost\r\n"
TOKEN = f"Authorization: Bearer {MCP_TOKEN}\r\n".encode()
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LIMIT = 1_048_576


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("body"), tokens_toml(), app="tests.helpers.probe:app")
    with running(made):
        yield made


def post(path: bytes, *lines: bytes) -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"".join(lines) + b"\r\n"


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def ask(server: Server, data: bytes) -> bytes:
    with server.connect() as connection:
        with suppress(OSError):  # the server may have had enough of it
            connection.sendall(data)
        return receive_answer(connection)


# -- chunks ----------------------------------------------------------------------------------------


LOGIN = post(b"/deck/login", b"Content-Type: application/json\r\n", CHUNKED)
BODY = post(b"/probe/body", TOKEN, CHUNKED)
EXTENDED = b"1;" + b"a" * 200 + b"\r\nx\r\n"
BARE = b"1\r\nx\r\n"
TRAILER = b"0\r\n" + b"A: b\r\n" * 20_000


@pytest.mark.parametrize(
    ("head", "flood", "expected"),
    [
        (LOGIN, EXTENDED * 5_000, 413),
        (BODY, EXTENDED * 5_000, 413),
        (BODY, BARE * 200_000, 413),
        (BODY, b"1;" + b"a" * 300 + b"\r\nx\r\n0\r\n\r\n", 400),
        (BODY, b"1;" + b"a" * 100_000, 400),
        (BODY, b"0" * 300 + b"1\r\nx\r\n0\r\n\r\n", 400),
        (BODY, TRAILER, 400),
    ],
    ids=["login", "extensions", "tiny", "long-extension", "endless-line", "zeros", "trailers"],
)
def test_framing_without_content_is_refused(server, head, flood, expected):
    with server.connect() as connection:
        writer = gevent.spawn(send_until_refused, connection, itertools.repeat(head + flood, 1))
        answer = receive_answer(connection)
        assert status(answer) == expected
        assert b"Connection: close\r\n" in answer
        writer.kill()


def send_until_refused(connection, parts) -> int:
    """How many bytes the server took."""
    sent = 0
    with suppress(OSError):
        for part in parts:
            connection.sendall(part)
            sent += len(part)
    return sent


def test_chunks_of_a_usual_size_may_fill_the_whole_limit(server):
    chunk = b"40;name=value\r\n" + b"x" * 64 + b"\r\n"
    plain = b"40\r\n" + b"x" * 64 + b"\r\n"
    body = chunk * 100 + plain * (LIMIT // 64 - 100) + b"0\r\nA: b\r\n\r\n"
    with server.connect() as connection:
        writer = gevent.spawn(connection.sendall, BODY + body)
        assert receive_answer(connection).endswith(b'{"length":1048576}\n')
        writer.join(5)
        connection.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert status(receive_answer(connection)) == 200


def test_others_are_answered_while_floods_of_chunks_come(server):
    """Every flood has as many chunks as it may; the hub itself says whether it was ever held."""
    tiny = BARE * 25_000 + b"0\r\n\r\n"
    floods = [gevent.spawn(ask, server, BODY + tiny) for _ in range(8)]
    while not all(flood.dead for flood in floods):
        assert server.get("/healthz").status_code == 200
    assert all(flood.get().endswith(b'{"length":25000}\n') for flood in floods)
    assert server.get("/healthz").json()["hub"]["held"] == 0


# -- Expect ----------------------------------------------------------------------------------------

EXPECT = b"Expect: 100-continue\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (post(b"/probe/body", EXPECT, b"Content-Length: 5\r\n"), 401),
        (post(b"/nowhere", EXPECT, TOKEN, b"Content-Length: 5\r\n"), 404),
        (post(b"/probe/body", EXPECT, TOKEN, b"Content-Length: 9000000\r\n"), 413),
        (post(b"/deck/login", EXPECT, CHUNKED).replace(b"localhost", b"evil.example"), 403),
    ],
)
def test_a_client_that_is_refused_is_not_told_to_go_on(server, request_bytes, expected):
    with server.connect() as connection:
        connection.sendall(request_bytes)
        assert status(receive_answer(connection)) == expected


@pytest.mark.parametrize(
    ("framing", "body"),
    [(b"Content-Length: 5\r\n", b"hello"), (CHUNKED, b"5\r\nhello\r\n0\r\n\r\n")],
)
def test_a_client_that_may_send_is_told_once_to_go_on(server, framing, body):
    with closing(server.connect()) as connection:
        connection.sendall(post(b"/probe/body", EXPECT, TOKEN, framing))
        told = b"HTTP/1.1 100 Continue\r\n\r\n"
        received = b""
        while len(received) < len(told):
            received += connection.recv(len(told) - len(received))
        assert received == told
        connection.sendall(body)
        answer = receive_answer(connection)
        assert status(answer) == 200
        assert answer.endswith(b'{"length":5}\n')
        assert b"Connection: close" not in answer
