"""One WebSocket over a real connection: messages, bounds, pace, and every way to end."""

import pytest
from gevent.select import select

from mead.protocols.sockets import Closed
from mead.web.websocket.frames import encode_text
from tests.helpers.raw_websocket import (
    CONT,
    END,
    PING,
    PONG,
    TEXT,
    Got,
    close,
    closing,
    masked,
)
from tests.helpers.waiting import eventually


def test_messages_go_both_ways_in_order(rig):
    serving = rig.run(rig.echo)
    for text in ("one", "two", "x" * 70_000):
        rig.client.send_text(text)
    assert [rig.client.receive_text() for _ in range(3)] == ["one", "two", "x" * 70_000]
    rig.client.send(close(1000))
    assert rig.client.receive() == closing(1000)
    assert rig.client.receive() is END
    rig.client.connection.close()
    serving.join(5)
    assert rig.socket.closed == Closed(1000)


def test_a_reply_goes_out_ahead_of_the_answer_to_a_close_in_the_same_packet(rig):
    rig.run(rig.echo)
    rig.client.send(masked(TEXT, b"last") + close(1000, "bye"))
    assert rig.client.receive_rest() == [Got(TEXT, b"last"), closing(1000, "bye")]


def test_frames_that_wait_together_are_one_packet(rig):
    rig.run(rig.drain)
    for number in range(5):
        rig.socket.send(encode_text(str(number).encode()))
    rig.client.connection.settimeout(5)
    assert len(rig.client.connection.recv(1000)) == 15


def test_a_ping_is_answered_while_a_message_is_still_coming(rig):
    rig.run(rig.echo)
    rig.client.send(masked(TEXT, b"a", fin=False) + masked(PING, b"are you there"))
    assert rig.client.receive() == Got(PONG, b"are you there")
    rig.client.send(masked(CONT, b"b"))
    assert rig.client.receive() == Got(TEXT, b"ab")


def test_the_servers_ping_reaches_the_client_and_its_pong_is_activity(rig):
    rig.run(rig.drain)
    before = rig.socket.last_activity
    assert rig.socket.ping()
    assert rig.client.receive() == Got(PING, b"")
    assert rig.socket.last_activity == before
    rig.client.send(masked(PONG))
    eventually(lambda: rig.socket.last_activity > before)


def test_receiving_may_time_out_and_go_on(rig):
    seen = []

    def view() -> None:
        with pytest.raises(TimeoutError):
            rig.socket.receive(timeout_ms=20)
        with pytest.raises(TimeoutError):
            rig.socket.receive(timeout_ms=0)
        seen.append(rig.socket.closed)

    rig.run(view)
    assert eventually(lambda: seen) == [None]


def test_a_timeout_loses_no_bytes(rig):
    frame = masked(TEXT, b"whole" * 20)
    got = []

    def view() -> None:
        for byte in frame:
            with pytest.raises(TimeoutError):
                rig.socket.receive(timeout_ms=byte % 3)
            rig.client.send(bytes([byte]))
            select([rig.server], [], [], 5)
        got.append(rig.socket.receive(timeout_ms=5000))

    rig.run(view)
    assert eventually(lambda: got) == ["whole" * 20]
