import http.client
import io
import time

import gevent
import pytest

from mead.net.fair import MAXIMUM_HEAD_BYTES, FairResponse, FairSource, HeadTooLong
from tests.helpers.flood_server import flooding
from tests.helpers.replay_server import ReplayServer, Reply, answer, sse


class FairConnection(http.client.HTTPConnection):
    response_class = FairResponse


def asked(port):
    connection = FairConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/")
    return connection


class Ready(io.RawIOBase):
    """Bytes that never make their reader wait: a millisecond of work for each read."""

    def readable(self):
        return True

    def readinto(self, buffer):
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            pass
        buffer[:1] = b"x"
        return 1


def test_a_reader_whose_bytes_are_always_there_lets_others_run():
    turns = 0

    def other():
        nonlocal turns
        while True:
            turns += 1
            gevent.sleep(0)

    running = gevent.spawn(other)
    assert len(io.BufferedReader(FairSource(Ready())).read(100)) == 100
    running.kill()
    assert turns >= 10


class Waits(io.RawIOBase):
    """Bytes that come one by one, each later than a reader may go on without giving way."""

    def readable(self):
        return True

    def readinto(self, buffer):
        gevent.sleep(0.006)
        buffer[:1] = b"x"
        return 1


def test_a_reader_that_waits_for_its_bytes_does_not_give_way_besides(monkeypatch):
    pauses = []
    monkeypatch.setattr("mead.net.fair.pause", lambda: pauses.append(1))
    assert len(io.BufferedReader(FairSource(Waits())).read(20)) == 20
    assert not pauses


def test_a_deadline_ends_a_read_that_never_waits():
    source = io.BufferedReader(FairSource(Ready()))
    with gevent.Timeout(0.02, False):
        source.read(10_000)
        raise AssertionError("ten seconds of reading were not ended")


def test_no_more_than_the_limit_is_read():
    source = FairSource(Ready())
    source.limit(10)
    assert [source.read(1) for _ in range(10)] == [b"x"] * 10
    with pytest.raises(HeadTooLong):
        source.read(1)
    source.limit(None)
    assert source.read(1) == b"x"


def test_closing_the_answer_closes_its_socket():
    with ReplayServer(sse(b"x", framing="close", end="hold")) as server:
        response = asked(server.port).getresponse()
        assert response.read1() == b"x"
        response.close()
        assert server.left.wait(5)


@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
def test_a_body_of_any_length_is_read_whole(framing):
    parts = [b"x" * 100_000] * 10
    assert sum(map(len, parts)) > MAXIMUM_HEAD_BYTES
    with ReplayServer(Reply(parts, framing=framing)) as server:
        connection = asked(server.port)
        assert connection.getresponse().read() == b"".join(parts)
        connection.close()


def test_trailers_are_passed_over_and_the_connection_serves_again():
    trailed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\n\r\n"
    with ReplayServer(Reply([trailed], framing="raw", end="hold")) as server:
        connection = asked(server.port)
        response = connection.getresponse()
        assert response.read() == b"ok"
        assert response.isclosed()
        connection.close()


@pytest.mark.parametrize("status", [100, 102, 103, 199])
def test_an_interim_answer_is_not_taken_for_the_answer(status):
    interim = b"HTTP/1.1 %d Soon\r\nLink: </a>\r\n\r\n" % status
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with ReplayServer(Reply([interim * 2 + final], framing="raw", end="hold")) as server:
        connection = asked(server.port)
        response = connection.getresponse()
        assert (response.status, response.getheader("link"), response.read()) == (200, None, b"ok")
        connection.close()


def test_an_answer_that_leaves_http_is_the_answer():
    switching = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    with ReplayServer(Reply([switching], framing="raw", end="hold")) as server:
        connection = asked(server.port)
        assert connection.getresponse().status == 101
        connection.close()


@pytest.mark.parametrize("kind", ["interim answers", "early hints", "headers", "a status line"])
def test_a_head_without_end_is_refused(kind):
    with flooding(kind) as port:
        connection = asked(port)
        with pytest.raises(http.client.HTTPException):
            connection.getresponse()
        connection.close()


@pytest.mark.parametrize("kind", ["trailers", "long trailers"])
def test_trailers_without_end_are_refused(kind):
    with flooding(kind) as port:
        connection = asked(port)
        response = connection.getresponse()
        with pytest.raises(http.client.HTTPException):
            response.read1()
        response.close()
        connection.close()


@pytest.mark.parametrize("kind", ["interim answers", "headers"])
def test_a_proxy_that_answers_without_end_is_refused(kind):
    with flooding(kind) as port:
        connection = FairConnection("127.0.0.1", port, timeout=5)
        connection.set_tunnel("model.test", 443)
        with pytest.raises((http.client.HTTPException, OSError)):
            connection.connect()
        connection.close()


def test_an_ordinary_answer_is_as_it_was():
    with ReplayServer(answer({"ok": 1}, headers={"X-A": "b"})) as server:
        connection = asked(server.port)
        response = connection.getresponse()
        assert response.getheader("x-a") == "b"
        assert response.read() == b'{"ok": 1}'
        connection.close()
