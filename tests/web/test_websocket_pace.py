"""The pace of a WebSocket connection: clients that flood, read late, or not at all."""

import gevent
import pytest
from gevent.event import Event
from gevent.select import select

from mead.protocols.sockets import Closed
from mead.web.websocket.connection import RECEIVE_BYTES
from mead.web.websocket.frames import encode_text
from mead.web.websocket.outgoing import QUEUE_BYTES, QUEUE_FRAMES
from tests.helpers.raw_websocket import (
    BINARY,
    PING,
    PONG,
    TEXT,
    Got,
    close,
    closing,
    masked,
)
from tests.helpers.waiting import eventually
from tests.web.rig import KIB


def test_a_client_that_floods_is_held_back_by_not_being_read(rig):
    go_on = Event()
    received = []

    def view() -> None:
        received.append(rig.socket.receive())
        go_on.wait()
        received.extend(rig.drain())

    serving = rig.run(view)
    flood = gevent.spawn(rig.client.send, masked(BINARY, b"x" * 60 * KIB) * 400)
    with pytest.raises(gevent.Timeout):
        flood.get(timeout=0.3)
    assert len(rig.socket._incoming._protocol.reader.buffer) <= 64 * KIB
    go_on.set()
    flood.join(5)
    rig.client.send(close(1000))
    serving.join(5)
    assert received == [b"x" * 60 * KIB] * 400


def test_a_client_with_much_to_say_does_not_hold_up_the_others(rig):
    turns = 0
    seen = []

    def other() -> None:
        nonlocal turns
        while True:
            gevent.sleep(0)
            turns += 1

    def view() -> None:
        rig.socket.receive()
        before = turns
        for _ in range(99):
            rig.socket.receive()
        seen.append(turns - before)

    rig.client.send(masked(TEXT, b"x" * 1000) * 100)
    select([rig.server], [], [], 5)
    waiting = gevent.spawn(other)
    rig.run(view)
    assert eventually(lambda: seen)[0] >= 100_000 // RECEIVE_BYTES - 1
    waiting.kill()


def test_a_client_that_pings_and_never_reads_is_not_read_for_ever(rig):
    serving = rig.run(rig.drain)
    pings = masked(PING, b"x" * 100)
    flood = gevent.spawn(rig.client.send, pings * 60_000)
    with pytest.raises(gevent.Timeout):
        flood.get(timeout=0.5)
    assert rig.socket._outgoing.pending_bytes < 200 * KIB
    assert rig.socket.closed is None
    pongs = 0
    while pongs < 60_000:
        assert rig.client.receive() == Got(PONG, b"x" * 100)
        pongs += 1
    rig.client.send(close(1000))
    assert rig.client.receive_rest() == [closing(1000)]
    serving.join(5)


def test_more_than_a_thousand_pings_at_once_are_all_answered(rig):
    rig.run(rig.drain)
    rig.client.send(b"".join(masked(PING, b"%d" % number) for number in range(2500)))
    assert [rig.client.receive().data for _ in range(2500)] == [b"%d" % n for n in range(2500)]


@pytest.mark.parametrize(
    ("size", "fits"), [(100, QUEUE_FRAMES), (100 * KIB, (QUEUE_BYTES - 300 * KIB) // (100 * KIB))]
)
def test_a_full_queue_closes_its_socket_as_slow_and_loses_no_half_frame(rig, size, fits):
    serving = rig.run(rig.drain)
    count = rig.send_until_full(encode_text(b"y" * size))
    assert abs(count - fits) <= 3
    assert rig.socket.closed == Closed(1013, "too slow")
    assert not rig.socket.send(b"")
    got = rig.client.receive_rest()
    assert got[0] == Got(TEXT, b"x" * 600 * KIB)
    assert got[-1] == closing(1013, "too slow")
    assert set(got[1:-1]) <= {Got(TEXT, b"y" * size)}
    assert len(got) < count
    serving.join(5)


def test_a_client_that_reads_late_gets_everything(rig):
    rig.run(rig.drain)
    frames = [b"%d " % number * 200 for number in range(900)]
    assert all(rig.socket.send(encode_text(frame)) for frame in frames)
    rig.wait_until_it_waits()
    assert [rig.client.receive() for _ in frames] == [Got(TEXT, frame) for frame in frames]


def test_one_message_alone_may_be_larger_than_the_queue(rig):
    rig.run(rig.drain)
    assert rig.socket.send(encode_text(b"x" * 3 * QUEUE_BYTES))
    assert rig.client.receive() == Got(TEXT, b"x" * 3 * QUEUE_BYTES)


def test_a_replay_waits_for_the_client_and_leaves_the_queue_free(rig):
    rig.run(rig.drain)
    sent = []

    def replay() -> None:
        for number in range(60):
            rig.socket.send_paced(encode_text(b"%03d" % number * 10_000))
            sent.append(number)

    replaying = gevent.spawn(replay)
    rig.wait_until_it_waits()
    assert len(sent) < 40
    assert rig.socket._outgoing.pending_bytes <= 30 * KIB
    live = [encode_text(b"live %d" % number) for number in range(QUEUE_FRAMES)]
    assert all(rig.socket.send(frame) for frame in live)
    got = [rig.client.receive() for _ in range(60 + QUEUE_FRAMES)]
    replaying.join(5)
    assert [one.data for one in got if one.data.startswith(b"live")] == [
        b"live %d" % number for number in range(QUEUE_FRAMES)
    ]
    assert [one.data[:3] for one in got if not one.data.startswith(b"live")] == [
        b"%03d" % number for number in range(60)
    ]


def test_a_large_replay_leaves_all_of_the_queue_free(rig):
    rig.run(rig.drain)
    rig.socket.send_paced(encode_text(b"r" * 3 * QUEUE_BYTES))
    rig.wait_until_it_waits()
    live = encode_text(b"l" * 100_000)
    assert all(rig.socket.send(live) for _ in range(10))
    assert not rig.socket.send(live)
    assert rig.client.receive() == Got(TEXT, b"r" * 3 * QUEUE_BYTES)


def test_a_frame_that_does_not_count_leaves_all_of_the_queue_free(rig):
    rig.run(rig.drain)
    assert rig.socket.send(encode_text(b"before"))
    assert rig.socket.send(encode_text(b"s" * 3 * QUEUE_BYTES), counts=False)
    rig.wait_until_it_waits()
    live = encode_text(b"l" * 100_000)
    assert all(rig.socket.send(live) for _ in range(10))
    assert not rig.socket.send(live)
    assert rig.client.receive() == Got(TEXT, b"before")
    assert rig.client.receive() == Got(TEXT, b"s" * 3 * QUEUE_BYTES)


def test_what_is_given_while_a_writer_ends_is_sent(rig):
    rig.run(rig.drain)
    for _ in range(20):
        rig.socket.send(encode_text(b"x" * 600 * KIB))
        rig.wait_until_it_waits()
        reading = gevent.spawn(rig.client.receive)
        sent = 0
        while rig.socket._outgoing._writer is not None:
            if not rig.socket._outgoing.pending_bytes:
                rig.socket.send(encode_text(b"%d" % sent))
                sent += 1
            gevent.sleep(0)
        assert reading.get(timeout=5) == Got(TEXT, b"x" * 600 * KIB)
        assert [rig.client.receive_text() for _ in range(sent)] == [str(n) for n in range(sent)]


def test_a_killed_replay_leaves_no_half_frame(rig):
    rig.run(rig.drain)

    def replay() -> None:
        while True:
            rig.socket.send_paced(encode_text(b"r" * 50_000))

    replaying = gevent.spawn(replay)
    rig.wait_until_it_waits()
    replaying.kill()
    rig.socket.send(encode_text(b"after"))
    while (got := rig.client.receive()) != Got(TEXT, b"after"):
        assert got == Got(TEXT, b"r" * 50_000)
