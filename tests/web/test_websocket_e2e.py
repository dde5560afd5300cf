"""WebSockets through flask-sock under real gunicorns, plain and TLS."""

import signal
import socket

import gevent
import pytest

from tests.helpers.raw_websocket import (
    BINARY,
    CLOSE,
    CONT,
    END,
    PING,
    PONG,
    TEXT,
    Got,
    RawClient,
    close,
    closing,
    masked,
    upgrade_request,
)
from tests.helpers.server import Server, receive_all, running
from tests.helpers.waiting import eventually
from tests.web.conftest import TLS, with_tls

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

APP = "tests.helpers.sockets:app"
MIB = 1_048_576


class Ends:
    """A server and how to reach it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.ca = TLS / "cert.pem" if server.scheme == "https" else None

    def connect(self, path: str, **options: object) -> RawClient:
        return RawClient.connect(self.server.port, path, ca=self.ca, **options)

    def ask(self, path: str) -> dict:
        verify = True if self.ca is None else str(self.ca)
        return self.server.get(path, verify=verify).json()


@pytest.fixture(scope="module", params=["http", "https"])
def ends(request, tmp_path_factory):
    toml = "[mcp_server]\n" if request.param == "http" else with_tls("[mcp_server]\n")
    server = Server(tmp_path_factory.mktemp("sockets"), toml, app=APP, scheme=request.param)
    with running(server):
        yield Ends(server)


# -- the handshake ---------------------------------------------------------------------------------


def test_a_frame_in_the_same_packet_as_the_handshake_is_not_lost(ends):
    with ends.connect("/echo", behind=masked(TEXT, b"at once") + masked(PING, b"p")) as client:
        assert {client.receive(), client.receive()} == {Got(TEXT, b"at once"), Got(PONG, b"p")}
        client.send_text("later")
        assert client.receive_text() == "later"


def test_half_a_frame_in_the_same_packet_as_the_handshake_is_not_lost(ends):
    frame = masked(TEXT, b"x" * 20_000)
    with ends.connect("/echo", behind=frame[:12_000]) as client:
        client.send(frame[12_000:])
        assert client.receive_text() == "x" * 20_000


@pytest.mark.parametrize(
    ("request_head", "status", "header"),
    [
        (upgrade_request("/echo", version="8"), 426, "Sec-WebSocket-Version: 13"),
        (upgrade_request("/echo", key=None), 400, "Content-Type: application/json"),
        (b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n", 426, "Upgrade: websocket"),
        (upgrade_request("/echo", "Content-Length: 4") + b"body", 400, "Connection: close"),
        (upgrade_request("/echo", "Origin: http://elsewhere"), 403, ""),
        (upgrade_request("/nowhere"), 404, ""),
        (upgrade_request("/healthz"), 400, ""),
    ],
)
def test_what_cannot_become_a_websocket_gets_an_http_answer(ends, request_head, status, header):
    with RawClient.open(ends.server.port, ca=ends.ca) as client:
        client.send(request_head)
        head = client.receive_head()
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert header in head


# -- messages --------------------------------------------------------------------------------------


def test_a_mebibyte_goes_both_ways(ends):
    text = "é" * (MIB // 2)
    with ends.connect("/echo") as client:
        client.send_text(text)
        assert client.receive_text() == text
        data = bytes(range(256)) * 4096
        for start in range(0, MIB, 1000):
            opcode = CONT if start else BINARY
            client.send(masked(opcode, data[start : start + 1000], fin=start + 1000 >= MIB))
        assert client.receive() == Got(BINARY, data)
        client.send(close(1000))
        assert client.receive_rest() == [closing(1000)]


def test_one_byte_more_is_refused_and_the_client_is_told(ends):
    with ends.connect("/echo") as client:
        client.send(masked(BINARY, b"x" * (MIB + 1)))
        (got,) = client.receive_rest()
        assert got.opcode is CLOSE
        assert got.data[:2] == (1009).to_bytes(2, "big")


def test_the_end_of_the_stream_is_clean(ends):
    with ends.connect("/echo") as client:
        if ends.ca is not None:  # the end is announced
            client.connection.suppress_ragged_eofs = False
        client.send(close(1000, "bye"))
        assert client.receive_rest() == [closing(1000, "bye")]
    eventually(lambda: ends.server.says("echo: closed (1000, 'bye')"))


def test_a_bug_in_a_view_closes_with_1011_and_nothing_else(ends):
    with ends.connect("/bug") as client:
        assert client.receive_text() == "before"
        client.send_text("go")
        assert client.receive_rest() == [closing(1011)]
    ends.server.expect("a bug in a WebSocket's view: ZeroDivisionError")
    assert "the-secret-of-the-bug" not in ends.server.log


# -- slow, dead and many ---------------------------------------------------------------------------


def test_a_client_that_stops_reading_is_closed_as_slow_and_nobody_else_is(ends):
    before = ends.ask("/held")["closers"]
    with (
        ends.connect("/listen", buffer=4096) as slow,
        ends.connect("/listen", buffer=4096) as frozen,
        ends.connect("/listen") as quick,
    ):
        eventually(lambda: ends.ask("/held")["closers"] - before == 3)
        reading = gevent.spawn(lambda: [int(quick.receive().data[:8]) for _ in range(8_000)])
        assert ends.ask("/broadcast?count=8000&size=100") == {"listening": 3}
        assert reading.get(timeout=20) == list(range(8_000))
        *whole, last = slow.receive_rest()
        assert last == closing(1013, "too slow")
        assert [int(got.data[:8]) for got in whole] == list(range(len(whole)))
        assert {len(got.data) for got in whole} == {100}
        eventually(lambda: ends.ask("/held")["closers"] - before == 1)
        assert frozen.connection.fileno() > 0


def test_clients_that_vanish_leave_nothing_behind(ends):
    before = ends.ask("/held")
    clients = [ends.connect("/listen") for _ in range(20)]
    for number, client in enumerate(clients):
        if number % 2:
            client.send(masked(TEXT, b"half")[:-2])
        reset = b"\1\0\0\0\0\0\0\0"
        client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        client.connection.close()
    eventually(lambda: ends.ask("/held") == before)


# -- the end of the process ------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_sigterm_closes_every_socket_with_1001_and_the_process_leaves_in_order(tmp_path, scheme):
    toml = "[mcp_server]\n" if scheme == "http" else with_tls("[mcp_server]\n")
    with running(Server(tmp_path, toml, app=APP, scheme=scheme)) as server:
        ends = Ends(server)
        clients = [ends.connect("/listen") for _ in range(5)]
        polite = clients[0]
        server.signal(signal.SIGTERM)
        for client in clients:
            assert client.receive() == closing(1001, "restart")
        polite.send(close(1001))
        for client in clients:  # those that do not answer are cut
            assert client.receive() is END
            client.connection.close()
        assert server.end() == 0
        assert server.says("listen: closed (1001, 'restart')")
        assert server.says("Mead has stopped")
        assert "bug" not in server.log


@pytest.mark.parametrize(
    ("worker", "number"),
    [((), signal.SIGINT), (("-k", "gevent", "--graceful-timeout", "1"), signal.SIGHUP)],
    ids=["ours", "plain"],
)
def test_a_view_ended_by_force_leaves_no_http_in_the_stream(tmp_path, worker, number):
    with running(Server(tmp_path, app=APP), *worker) as server:
        client = RawClient.connect(server.port, "/hang")
        server.expect("hang: began")
        server.signal(number)
        assert client.receive_rest() in ([], [closing(1001, "restart")])
        client.connection.close()
        server.expect("hang: ended")
        assert "Traceback" not in server.log
        assert "bug" not in server.log


def test_the_plain_gevent_worker_serves_websockets_too(tmp_path):
    with running(Server(tmp_path, app=APP), "-k", "gevent") as server:
        with RawClient.connect(server.port, "/echo", behind=masked(TEXT, b"hi")) as client:
            assert client.receive_text() == "hi"
            client.send(close(1000))
            assert client.receive_rest() == [closing(1000)]
        with server.connect() as plain:
            plain.sendall(upgrade_request("/echo", key=None))
            plain.shutdown(socket.SHUT_WR)
            assert receive_all(plain).startswith(b"HTTP/1.1 400 ")
