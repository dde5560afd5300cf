"""One WebSocket over a real connection: messages, bounds, pace, and every way to end."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import gevent
import pytest
from gevent.event import Event
from gevent.select import select

from mead.actors.tasks import TaskSupervisor
from mead.protocols.sockets import Closed
from mead.web.websocket.connection import RECEIVE_BYTES, WebSocket
from mead.web.websocket.flusher import Flusher
from mead.web.websocket.frames import encode_close, encode_text
from mead.web.websocket.incoming import Incoming
from mead.web.websocket.outgoing import QUEUE_BYTES, QUEUE_FRAMES
from mead.web.websocket.wire import prepare
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
)
from tests.helpers.waiting import eventually

SMALL_BUFFER: Final = 4096
KIB: Final = 1024


class Rig:
    """A server's WebSocket and its client, joined by a TCP connection on loopback."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = RawClient(client)
        self.server = server
        self.tasks = TaskSupervisor()
        self.flusher = Flusher(self.tasks)
        self.registered: set[Callable[[int, str], None]] = set()
        prepare(server, 30_000)
        self.socket = WebSocket(
            server, Incoming(QUEUE_BYTES), self.flusher, self.tasks, self.register
        )

    @contextmanager
    def register(self, close: Callable[[int, str], None]) -> Iterator[None]:
        self.registered.add(close)
        self.flusher.opened()
        try:
            yield
        finally:
            self.registered.remove(close)
            self.flusher.closed()

    def run(self, view: Callable[[], object]) -> gevent.Greenlet:
        """What the request's greenlet does."""

        def serve() -> None:
            try:
                self.socket.run(view)
            finally:
                self.server.close()

        return gevent.spawn(serve)

    def drain(self) -> list[str | bytes]:
        """A view that only receives."""
        received = []
        while (message := self.socket.receive()) is not None:
            received.append(message)
        return received

    def echo(self) -> None:
        """A view that sends back."""
        while (message := self.socket.receive()) is not None:
            self.socket.send(encode_text(message.encode()))

    def wait_until_it_waits(self) -> None:
        """Until the kernel takes no more."""
        eventually(lambda: self.socket._outgoing._writer is not None)

    def send_until_full(self, frame: bytes) -> int:
        """How many frames the queue takes, once the kernel takes none."""
        self.socket.send(encode_text(b"x" * 600 * KIB))
        self.wait_until_it_waits()
        count = 0
        while self.socket.send(frame):
            count += 1
        return count


@pytest.fixture
def rig() -> Iterator[Rig]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        client.connect(listener.getsockname())
        server, _ = listener.accept()
    rig = Rig(client, server)
    yield rig
    client.close()
    eventually(lambda: not rig.registered)
    eventually(lambda: len(rig.tasks) == 0)
    server.close()


# -- messages --------------------------------------------------------------------------------------


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


# -- pace ------------------------------------------------------------------------------------------


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


# -- ends ------------------------------------------------------------------------------------------


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
    assert "ZeroDivisionError in tests.web.test_websocket_connection" in caplog.text
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
