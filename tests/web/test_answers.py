import json
import socket
from contextlib import suppress

import gevent
import pytest

from mead.web.answers import hang_up, linger, write_answer


@pytest.fixture
def pair():
    """The server's end and the client's."""
    server, client = socket.socketpair()
    for one in (server, client):
        one.settimeout(5)
    with server, client:
        yield server, client


def received(client: socket.socket) -> bytes:
    parts = iter(lambda: client.recv(65_536), b"")
    return b"".join(parts)


def test_an_answer_of_the_worker_is_complete(pair):
    server, client = pair
    write_answer(server, "503 Service Unavailable", "Retry-After: 1\r\n")
    server.close()
    head, _, body = received(client).partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 503 Service Unavailable",
        b"Connection: close",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        b"Retry-After: 1",
    ]
    assert json.loads(body) == {"error": "service_unavailable"}


def test_an_answer_to_a_client_that_has_gone_is_no_fault(pair):
    server, client = pair
    client.close()
    for _ in range(3):
        write_answer(server, "400 Bad Request")


def test_what_a_client_still_sends_is_read_so_that_it_gets_its_answer(pair):
    server, client = pair
    client.sendall(b"x" * 10_000)
    client.shutdown(socket.SHUT_WR)
    server.sendall(b"200")
    linger(server)
    assert received(client) == b"200"


def test_a_client_that_sends_without_end_is_not_read_without_end(pair):
    server, client = pair

    def flood() -> None:
        with suppress(OSError):
            while True:
                client.sendall(b"x" * 4096)

    sending = gevent.spawn(flood)
    linger(server, 60)
    assert server.fileno() == -1
    sending.join(5)
    assert sending.dead


def test_an_idle_client_is_hung_up(pair):
    server, client = pair
    hang_up(server)
    assert client.recv(1) == b""


def test_a_request_that_is_there_is_not_lost(pair):
    server, client = pair
    client.sendall(b"GET")
    hang_up(server)
    assert server.recv(3) == b"GET"
    server.sendall(b"200")
    assert client.recv(3) == b"200"
