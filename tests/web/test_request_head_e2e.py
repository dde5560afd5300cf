"""The head of a request has a bound, and reading it holds nobody up."""

import socket

import pytest

from tests.helpers.server import Server, receive_answer, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

REQUEST_LINE = b"GET /healthz HTTP/1.1\r\n"
LIMIT = 32_768


def head_of(size: int) -> bytes:
    """A whole request head of that many bytes, each header within its own limit."""
    head = REQUEST_LINE + b"Host: localhost\r\n"
    for number in range(100):
        left = size - len(head) - len(b"\r\n")
        name = b"X-%02d: " % number
        value = min(8000, left - len(name) - 2)
        head += name + b"x" * value + b"\r\n"
        if len(head) + 2 >= size:
            break
    return head + b"\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(Server(tmp_path_factory.mktemp("head"))) as server:
        yield server


def status(server: Server, head: bytes) -> bytes:
    with server.connect() as connection:
        connection.sendall(head)
        return receive_answer(connection)[:12]


def test_a_head_of_thirty_two_kibibytes_is_read(server):
    head = head_of(LIMIT)
    assert len(head) == LIMIT
    assert status(server, head) == b"HTTP/1.1 200"


def test_a_longer_head_is_refused_before_its_end(server):
    unfinished = head_of(LIMIT + 100)[:-2]
    assert status(server, unfinished) == b"HTTP/1.1 431"


def test_small_packets_cannot_make_a_long_head(server):
    """Looking at all of it again with each packet took the whole process away from others."""
    head, sent = head_of(800_000)[:-2], 0
    with server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while sent < len(head):
                connection.sendall(head[sent : sent + 500])
                sent += 500
                if sent > LIMIT:
                    break
            answer = receive_answer(connection)
        except OSError:  # it was cut while more was sent
            answer = b""
    assert answer[:12] == b"HTTP/1.1 431"
    assert server.get("/healthz").json()["hub"]["held"] == 0
