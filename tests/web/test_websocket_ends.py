"""How a WebSocket connection ends: from either side, in order, and by force."""

import socket

import gevent
import pytest
from gevent.event import Event

from mead.protocols.sockets import Closed
from mead.web.websocket.frames import encode_close, encode_text
from mead.web.websocket.outgoing import QUEUE_BYTES
from tests.helpers.raw_websocket import (
    BINARY,
    CLOSE,
    END,
    TEXT,
    Got,
    close,
    closing,
    masked,
)
from tests.helpers.waiting import eventually


def test_a_view_that_returns_closes_with_1000(rig):
    serving = rig.run(lambda: rig.socket.send(encode_text(b"all there is")))
    assert rig.client.receive() == Got(TEXT, b"all there is")
    assert rig.client.receive() == closing(1000)
    rig.client.send(close(1000))
    assert rig.client.receive() is END
    assert not rig.socket._is_cut
    rig.client.connection.close()
    serving.join(5)
    assert rig.socket._incoming.over  # it waited for the client's Close
    assert rig.socket.closed == Closed(1000)


def test_a_view_that_raises_closes_with_1011_and_says_nothing_of_it(rig, caplog):
    def view() -> None:
        raise ZeroDivisionError("the secret")

    serving = rig.run(view)
    assert rig.client.receive_rest() == [closing(1011)]
    serving.join(5)
    assert "ZeroDivisionError in tests.web.test_websocket_ends" in caplog.text
    assert "the secret" not in caplog.text


def test_a_close_from_another_greenlet_ends_the_view_when_the_client_answers(rig):
    serving = rig.run(rig.drain)
    rig.socket.close(4409, "stopped")
    rig.socket.close(1000, "a second close does nothing")
    assert not rig.socket.send(encode_text(b"too late"))
    assert not rig.socket.send_paced(encode_text(b"too late"))
    assert not rig.socket.ping()
    assert rig.client.receive() == closing(4409, "stopped")
    rig.client.send(masked(TEXT, b"on its way") + close(4409))
    assert rig.client.receive() is END
    serving.join(5)
    assert rig.socket.closed == Closed(4409, "stopped")


def test_the_close_comes_behind_what_is_queued(rig):
    rig.run(rig.drain)
    for _ in range(10):
        rig.socket.send(encode_text(b"x" * 50_000))
    rig.socket.close(1001, "restart")
    rig.wait_until_it_waits()
    rest = rig.client.receive_rest()
    assert rest == [Got(TEXT, b"x" * 50_000)] * 10 + [closing(1001, "restart")]


def test_a_slow_client_that_still_reads_gets_all_of_it_before_the_close(rig):
    rig.run(rig.drain)
    rig.socket.send(encode_text(b"x" * 900_000))
    rig.socket.close(1001)
    received = b""
    for part in range(100_000, 900_000, 50_000):  # longer than one has who reads nothing
        while len(received) < part:
            received += rig.client.connection.recv(65_536)
        gevent.sleep(0.1)
    assert rig.socket._outgoing.sent_bytes > 900_000
    assert not rig.socket._is_cut
    while len(received) < 900_000 + 10 + 4:
        received += rig.client.connection.recv(65_536)
    assert received.endswith(encode_close(Closed(1001)))


def test_a_client_that_never_answers_a_close_is_cut(rig):
    serving = rig.run(rig.drain)
    rig.socket.close(1001)
    assert rig.client.receive_rest() == [closing(1001)]
    serving.join(5)
    assert serving.ready()


def test_a_view_that_does_not_return_cannot_hold_the_connection(rig):
    stuck = Event()
    serving = rig.run(stuck.wait)
    eventually(lambda: rig.registered)
    rig.socket.close(1001)
    assert rig.client.receive_rest() == [closing(1001)]
    assert not serving.ready()
    stuck.set()
    serving.join(5)
    assert serving.ready()


def test_a_client_that_takes_nothing_is_cut_though_much_is_queued(rig):
    serving = rig.run(rig.drain)
    rig.send_until_full(encode_text(b"x" * 50_000))
    serving.join(5)
    assert serving.ready()
    assert rig.socket._outgoing.pending_bytes == 0


def test_a_client_that_only_ends_its_own_side_still_gets_the_replies(rig):
    serving = rig.run(rig.echo)
    rig.client.send_text("x" * 300_000)
    rig.client.end()
    eventually(lambda: rig.socket.closed)  # while the reply waits
    assert rig.client.receive_text() == "x" * 300_000
    assert rig.client.receive() is END
    serving.join(5)
    assert rig.socket.closed == Closed(1006)


def test_a_client_that_closes_and_ends_its_side_at_once_gets_the_answer(rig):
    rig.run(rig.drain)
    rig.client.send(close(1001))
    rig.client.end()
    assert rig.client.receive_rest() == [closing(1001)]


@pytest.mark.parametrize("busy", [False, True])
def test_a_client_that_resets_frees_everything(rig, busy):
    serving = rig.run(rig.drain)
    if busy:
        rig.socket.send(encode_text(b"x" * 2 * QUEUE_BYTES))
        rig.wait_until_it_waits()
    linger_0 = b"\1\0\0\0\0\0\0\0"
    rig.client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_0)
    rig.client.connection.close()
    serving.join(5)
    assert serving.ready()
    assert rig.socket.closed == Closed(1006)
    assert rig.socket._outgoing.pending_bytes == 0
    assert not rig.socket.send(encode_text(b"x"))


def test_an_oversize_frame_is_refused_unread_and_the_client_sees_why(rig):
    serving = rig.run(rig.drain)
    head = masked(BINARY, b"x" * (QUEUE_BYTES + 1))[:14]
    sending = gevent.spawn(rig.client.send, head + b"x" * 3 * QUEUE_BYTES)
    got = rig.client.receive()
    assert got.opcode is CLOSE
    assert got.data[:2] == (1009).to_bytes(2, "big")
    sending.join(5)
    rig.client.connection.close()
    serving.join(5)
    assert rig.socket.closed.code == 1009


def test_a_client_that_goes_on_sending_after_its_end_is_cut(rig):
    serving = rig.run(rig.drain)

    def flood() -> None:
        while True:
            rig.client.send(b"x" * 100_000)

    rig.client.send(close(1000))
    flooding = gevent.spawn(flood)
    serving.join(5)
    assert serving.ready()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        flooding.get(timeout=5)


def test_a_killed_view_ends_without_the_exception_and_without_a_byte_of_http(rig):
    serving = rig.run(rig.drain)
    rig.socket.send(encode_text(b"x" * 2 * QUEUE_BYTES))
    rig.wait_until_it_waits()
    serving.kill()
    assert serving.value is None
    assert rig.socket.closed == Closed(1006)
    eventually(lambda: len(rig.tasks) == 0)


def test_a_kill_while_the_end_is_awaited_ends_it_at_once(rig):
    serving = rig.run(lambda: None)
    assert rig.client.receive() == closing(1000)
    serving.kill()
    assert serving.value is None
    assert rig.client.receive_rest() == []


def test_a_reason_that_is_too_long_is_cut_between_characters(rig):
    rig.run(rig.drain)
    rig.socket.close(1008, "é" * 100)
    got = rig.client.receive()
    assert got.data[2:].decode() == "é" * 61
