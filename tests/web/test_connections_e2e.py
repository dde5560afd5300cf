"""Room for connections, deadlines, and how a connection ends: a real gunicorn, bare sockets."""

import os
import socket
from contextlib import ExitStack, suppress

import gevent
import pytest

from tests.helpers.server import MCP_TOKEN, Server, receive_all, receive_answer, running
from tests.helpers.waiting import eventually
from tests.web.conftest import QUICK

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

PROBE = "tests.helpers.probe:app"
ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
AUTHORIZED = f"Host: localhost\r\nAuthorization: Bearer {MCP_TOKEN}\r\n".encode()


def ask(connection: socket.socket, request: bytes = ASK) -> bytes:
    connection.sendall(request)
    return receive_answer(connection)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def post(
    body: bytes, *lines: bytes, path: bytes = b"/probe/body", head: bytes = AUTHORIZED
) -> bytes:
    extra = b"".join(line + b"\r\n" for line in lines)
    return b"POST " + path + b" HTTP/1.1\r\n" + head + extra + b"\r\n" + body


def trickle(connection: socket.socket, data: bytes) -> gevent.Greenlet:
    """Send a byte every 50 ms until the server has enough of it."""

    def run() -> None:
        for byte in data:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                return
            gevent.sleep(0.05)

    return gevent.spawn(run)


# -- room ------------------------------------------------------------------------------------------


@pytest.fixture
def crowd():
    with ExitStack() as stack:
        yield stack


def test_exactly_as_many_connections_as_there_are_places_are_served(tmp_path, crowd):
    toml = "[mcp_server]\nmaximum_connections = 20\n"
    with running(Server(tmp_path, toml)) as server:
        held = [crowd.enter_context(server.connect()) for _ in range(20)]
        assert [status(ask(one)) for one in held] == [200] * 20
        with server.connect() as one_more:
            answer = ask(one_more)
            assert status(answer) == 503
            assert b"Retry-After: 1\r\n" in answer
            assert one_more.recv(1) == b""
        assert [status(ask(one)) for one in held] == [200] * 20
        held[7].close()
        with server.connect() as instead:
            assert status(ask(instead)) == 200


def test_a_connection_that_waits_gets_the_place_that_becomes_free(tmp_path):
    toml = "[mcp_server]\nmaximum_connections = 1\n"
    with running(Server(tmp_path, toml)) as server, server.connect() as first:
        ask(first)
        with server.connect() as second:
            second.sendall(ASK)
            first.close()
            assert status(receive_answer(second)) == 200


def test_a_flood_is_turned_away_and_leaves_the_place_usable(tmp_path, crowd):
    toml = "[mcp_server]\nmaximum_connections = 1\n"
    with running(Server(tmp_path, toml)) as server:
        with server.connect() as holder:
            ask(holder)
            flood = [crowd.enter_context(server.connect()) for _ in range(300)]
            for one in flood:
                answer = receive_all(one)
                assert answer == b"" or status(answer) == 503
            assert status(ask(holder)) == 200
        assert eventually(lambda: server.get("/readyz").status_code == 200)


# -- deadlines -------------------------------------------------------------------------------------


def test_a_client_that_says_nothing_is_cut(quick):
    with quick.connect() as silent:
        assert receive_all(silent) == b""


def test_a_client_that_trickles_its_head_is_cut(quick):
    with quick.connect() as slow:
        sending = trickle(slow, b"GET / HTTP/1.1\r\nX: " + b"a" * 500)
        assert receive_all(slow) == b""
        sending.kill()


def test_a_client_that_trickles_its_body_is_answered_and_cut(quick):
    with quick.connect() as slow:
        slow.sendall(post(b"", b"Content-Length: 1000"))
        sending = trickle(slow, b"a" * 500)
        answer = receive_all(slow)
        sending.kill()
        assert status(answer) == 408
        assert b"Connection: close\r\n" in answer


def test_a_client_that_does_not_read_its_answer_gives_its_place_back(tmp_path):
    toml = "[mcp_server]\nmaximum_connections = 1\n"
    with running(Server(tmp_path, toml, app=PROBE), *QUICK) as server, server.connect() as deaf:
        deaf.sendall(b"GET /probe/large?mib=64 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert eventually(lambda: server.get("/readyz").status_code == 200, bound_s=20)


def test_a_client_with_requests_in_a_row_gives_way_to_others(quick):
    one = b"GET /probe/count HTTP/1.1\r\nHost: localhost\r\n\r\n"
    hold = b"GET /probe/hold?ms=500 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    holds = quick.log.count("probe: hold began")
    with quick.connect() as chatty, quick.connect() as modest:
        ask(modest)
        chatty.sendall(hold + one * 400)
        quick.expect("probe: hold began", holds + 1)
        modest.sendall(one)
        counted = int(receive_answer(modest).rpartition(b":")[2].strip(b"}\n"))
        assert counted < 100


# -- bodies ----------------------------------------------------------------------------------------


def test_a_connection_is_kept_when_the_body_was_read(quick):
    with quick.connect() as connection:
        for _ in range(3):
            answer = ask(connection, post(b"x" * 1000, b"Content-Length: 1000"))
            assert answer.endswith(b'{"length":1000}\n')
            assert b"Connection: keep-alive\r\n" in answer


def test_requests_sent_together_are_answered_in_order(quick):
    with quick.connect() as connection:
        connection.sendall(post(b"abc", b"Content-Length: 3") + ASK)
        received = b""
        while b'"status":"ok"' not in received:
            received += connection.recv(4096)
        assert received.index(b'{"length":3}') < received.index(b'"status":"ok"')


def test_a_refused_request_with_a_body_ends_its_connection(quick):
    with quick.connect() as connection:
        connection.sendall(post(b"x" * 200_000, b"Content-Length: 9999999999", head=b"Host: a\r\n"))
        answer = receive_all(connection)
        assert status(answer) == 403
        assert b"Connection: close\r\n" in answer


@pytest.mark.parametrize("size", [1_048_576, 1_100_000])
def test_a_chunked_body_is_measured_to_its_end(quick, size):
    with quick.connect() as connection:
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (size, b"x" * size)
        connection.sendall(post(chunks, b"Transfer-Encoding: chunked"))
        answer = receive_answer(connection)
        if size > 1_048_576:
            assert status(answer) == 413
            assert b"Connection: close\r\n" in answer
        else:
            assert answer.endswith(b'{"length":1048576}\n')
            assert status(ask(connection)) == 200


def test_a_chunked_body_without_end_is_not_read_beyond_the_limit(quick):
    with quick.connect() as connection:
        connection.sendall(post(b"", b"Transfer-Encoding: chunked"))
        chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        sent = 0
        with suppress(OSError):  # the server has closed
            while sent < 64 * 1_048_576:
                connection.sendall(chunk)
                sent += 65_536
        assert sent < 16 * 1_048_576  # its limit, and what the kernels' buffers hold


def test_a_length_over_the_limit_is_refused_before_the_body_comes(quick):
    with quick.connect() as connection:
        answer = ask(connection, post(b"", b"Content-Length: 1048577"))
        assert status(answer) == 413


def test_a_body_shorter_than_announced_is_a_bad_request(quick):
    with quick.connect() as connection:
        connection.sendall(post(b"abc", b"Content-Length: 10"))
        connection.shutdown(socket.SHUT_WR)
        assert status(receive_answer(connection)) == 400


def test_a_broken_chunk_is_a_bad_request(quick):
    with quick.connect() as connection:
        answer = ask(connection, post(b"5\r\nabcdefghij\r\n", b"Transfer-Encoding: chunked"))
        assert status(answer) == 400
        assert b"Connection: close\r\n" in answer


# -- what is no request ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nBad Header: the-secret\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03the-secret\r\n\r\n", 400),
        (b"GET /?the-secret=" + b"a" * 5000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nExpect: the-secret\r\n\r\n", 417),
        (post(b"0\r\n\r\n", b"Content-Length: 5", b"Transfer-Encoding: chunked"), 400),
        (post(b"", b"Transfer-Encoding: the-secret"), 400),
    ],
)
def test_bytes_that_are_no_request_are_answered_without_html(quick, request_bytes, expected):
    with quick.connect() as connection:
        answer = ask(connection, request_bytes)
        assert status(answer) == expected
        assert b"Content-Type: application/json\r\n" in answer
        assert b"the-secret" not in answer
    assert "the-secret" not in quick.log


# -- bugs ------------------------------------------------------------------------------------------


def test_a_bug_is_a_plain_500_and_one_line_in_the_log(quick):
    answer = quick.get("/probe/bug")
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal_error"}
    quick.expect("a bug in a request: ZeroDivisionError")
    assert "Traceback" not in quick.log
    assert "the-secret" not in quick.log


def test_a_bug_in_the_middle_of_an_answer_ends_the_connection(quick):
    with quick.connect() as connection:
        connection.sendall(b"GET /probe/stream-bug HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = receive_all(connection)
        assert b"half" in answer
        assert not answer.endswith(b"0\r\n\r\n")
    assert "the-secret" not in quick.log


def test_an_exit_in_a_request_does_not_end_the_worker(quick):
    (worker,) = quick.workers()
    with quick.connect() as connection:
        connection.sendall(b"GET /probe/exit HTTP/1.1\r\nHost: localhost\r\n\r\n")
        receive_all(connection)
    quick.expect("A bug in a request: SystemExit")
    os.kill(worker, 0)
    assert quick.workers() == [worker]


def test_a_held_hub_is_reported_with_its_stack(quick):
    held = quick.get("/healthz").json()["hub"]["held"]
    quick.get("/probe/hold?ms=600")
    report = eventually(
        lambda: (hub := quick.get("/healthz").json()["hub"])["held"] > held and hub["last_held"]
    )
    assert report["held_ms"] >= 500
    assert report["stack"][0].startswith("tests.helpers.probe.hold:")
    quick.expect("the hub was held for")
    answer = quick.get("/metrics", headers={"Authorization": f"Bearer {MCP_TOKEN}"})
    assert f"mead_hub_held_total {held + 1}" in answer.text
