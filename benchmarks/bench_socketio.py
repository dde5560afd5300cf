"""The events of one conversation to many devices: Mead's deck and a room of python-socketio.

`.venv/bin/python -m benchmarks.bench_socketio`; about two minutes.  The client is this process: one
thread, epoll, no parsing.  Mead's events come from a turn that calls tools, through its log on
disk; python-socketio emits a text of the same length.  Of its servers (uvicorn with uvloop; gevent)
the better one of the first row is taken for all.
"""

import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.device import (
    BUFFER,
    DECK_TOKEN,
    Device,
    leave,
    read_until,
    text_frame,
    upgraded,
)
from benchmarks.peers import Options, Peer, options, skipping
from benchmarks.report import header, note, versus
from benchmarks.servers import ROOT, Running, free_port, gunicorn, started

PLACES = 1200
EVENTS_OF_A_CALL = 4
EVENTS_AROUND = 6
"""prompt.accepted, turn.started, turn.routed or text, turn.completed and the two metrics."""
HEAD_BYTES = 4
"""Of a frame of 126 to 65,535 bytes."""
SOCKETIO = ROOT / "benchmarks/socketio_app.py"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    listeners: int = 500
    calls: int = 50
    """Of the turn that is sent as fast as it goes."""
    paced: int = 100
    """Events of the turn whose events come 25 ms apart, so that none are joined."""
    idle: int = 1000
    rounds: int = 5


@dataclass(frozen=True)
class Sent:
    """What arrived everywhere."""

    rate: float
    """Messages a second, all clients together."""
    cpu_us: float
    """Of the server, for each."""
    size: int
    """Bytes of a message, without the frame's head."""


def main(given: Options | None = None, size: Size = Size()) -> None:
    header("fan-out: Mead's deck and python-socketio", "websockets", "gunicorn")
    peer = (given or options()).peer("socketio")
    if peer is None:
        return
    note(peer.versions("python-socketio", "python-engineio", "uvicorn", "uvloop", "gevent"))
    with mead() as server:
        burst, paced = deck_fan_out(server, size)
    with mead() as server:
        idle = deck_idle(server, size)
    with skipping("python-socketio"):
        rooms = {way: room_fan_out(peer, way, burst.size, paced.size, size) for way in WAYS}
        best = max(rooms, key=lambda way: rooms[way][0].rate)
        for way, (fast, slow) in rooms.items():
            note(f"python-socketio with {way}: {fast.rate:,.0f}/s, {slow.cpu_us:.1f} us paced")
        what = f"python-socketio with {best}"
        compare(burst, paced, *rooms[best], size)
        versus(
            f"memory of one of {size.idle:,} idle sockets, of {what}",
            idle,
            room_idle(peer, best, size),
            "KiB",
            most=1,
        )


WAYS = ("asgi", "gevent")
PATIENCE_S = 20
"""For the next byte."""


def compare(burst: Sent, paced: Sent, room: Sent, room_paced: Sent, size: Size) -> None:
    """The rows of sending."""
    what = f"{burst.size} B to {size.listeners} sockets"
    versus(f"messages a second, {what}", burst.rate, room.rate, "/s", least=1)
    versus(f"processor time of a message, {what}", burst.cpu_us, room.cpu_us, "us", most=1)
    what = f"{paced.size} B, one every 25 ms"
    versus(f"the same, {what}", paced.cpu_us, room_paced.cpu_us, "us", most=1)


# -- Mead ------------------------------------------------------------------------------------------


@contextmanager
def mead() -> Iterator[Running]:
    """With storage, and the handler that does what its prompt says."""
    toml = (
        '[runtime]\nturn_handler = "player"\n'
        'handlers = { player = "tests.deck.e2e.player:Player" }\n'
        f'[deck]\ntoken = "{DECK_TOKEN}"\n[storage]\ndirectory = "{{home}}/sessions"\n'
    )
    with gunicorn(toml, places=PLACES) as server:
        yield server


def deck_fan_out(server: Running, size: Size) -> tuple[Sent, Sent]:
    """A turn of many tool calls, and one of texts 25 ms apart."""
    first = Device(server.port)
    more = range(size.listeners - 1)
    devices = [first, *(Device(server.port, first.session_id) for _ in more)]
    calls = size.calls * EVENTS_OF_A_CALL + EVENTS_AROUND
    burst = [
        deck_turn(server, devices, f"calls {size.calls} 0", number, calls)
        for number in range(1, size.rounds + 1)
    ]
    texts = size.paced + EVENTS_AROUND
    paced = deck_turn(server, devices, f"stream {size.paced} 25", size.rounds + 1, texts)
    leave(devices)
    return middle(burst), paced


def deck_turn(server: Running, devices: list[Device], text: str, number: int, events: int) -> Sent:
    received = 0

    def count(_: Device, data: bytes) -> None:
        nonlocal received
        received += len(data)

    cpu_s, began = server.cpu_s(), time.perf_counter()
    devices[0].send(text, f"m{number}")
    read_until(devices, count, lambda device: device.ends == number)
    return sent(server, events * len(devices), cpu_s, began, received)


def deck_idle(server: Running, size: Size) -> float:
    """KiB of a socket that has resumed and now waits."""
    first = Device(server.port)
    Device(server.port, first.session_id).socket.close()  # what the first one loads is not counted
    before = server.memory()
    devices = [Device(server.port, first.session_id) for _ in range(size.idle)]
    each = (server.memory() - before) / size.idle / 1024
    leave([first, *devices])
    return each


# -- python-socketio -------------------------------------------------------------------------------


@contextmanager
def room(peer: Peer, way: str) -> Iterator[Running]:
    port = free_port()
    command = [str(peer.python), str(SOCKETIO), str(port), way]
    with started(command, port, "/ready") as server:
        yield server


def room_fan_out(peer: Peer, way: str, burst: int, paced: int, size: Size) -> tuple[Sent, Sent]:
    """As many events of the same size, as fast as it goes, and 25 ms apart."""
    with room(peer, way) as server:
        clients = [joined(server.port) for _ in range(size.listeners)]
        calls = size.calls * EVENTS_OF_A_CALL + EVENTS_AROUND
        fast = [emitted(server, clients, calls, burst, 0) for _ in range(size.rounds)]
        slow = emitted(server, clients, size.paced + EVENTS_AROUND, paced, 25)
        for client in clients:
            client.close()
        return middle(fast), slow


def joined(port: int) -> socket.socket:
    """A client in the room: the open packet, the namespace, its answer."""
    client = upgraded(port, "/socket.io/?EIO=4&transport=websocket")
    read_to(client, b"}")
    client.sendall(text_frame(b"40"))
    read_to(client, b"}")
    return client


def read_to(client: socket.socket, mark: bytes) -> None:
    while client.recv(1) != mark:
        pass


def emitted(
    server: Running, clients: list[socket.socket], events: int, size: int, pause_ms: int
) -> Sent:
    """One /emit, from the request to the last byte at the last client."""
    text = size - len('42["event",""]')
    left = events * len(clients) * (size + HEAD_BYTES)
    total = left
    cpu_s, began = server.cpu_s(), time.perf_counter()
    asked = socket.create_connection(("127.0.0.1", server.port))
    path = f"/emit?events={events}&size={text}&pause_ms={pause_ms}"
    asked.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client, selectors.EVENT_READ)
        while left > 0:
            ready = selector.select(PATIENCE_S)
            for key, _ in ready:
                data = key.fileobj.recv(BUFFER)
                if not data:
                    raise ConnectionError("the server closed a client's connection")
                left -= len(data)
            if not ready:
                raise TimeoutError(f"nothing came for {PATIENCE_S} s")
    report = sent(server, events * len(clients), cpu_s, began, total)
    while asked.recv(BUFFER):
        pass
    asked.close()
    return report


def room_idle(peer: Peer, way: str, size: Size) -> float:
    """KiB of a socket that has joined and now waits."""
    with room(peer, way) as server:
        joined(server.port).close()
        before = server.memory()
        clients = [joined(server.port) for _ in range(size.idle)]
        each = (server.memory() - before) / size.idle / 1024
        for client in clients:
            client.close()
        return each


# -- both ------------------------------------------------------------------------------------------


def sent(server: Running, messages: int, cpu_s: float, began: float, received: int) -> Sent:
    took = time.perf_counter() - began
    return Sent(
        rate=messages / took,
        cpu_us=1e6 * (server.cpu_s() - cpu_s) / messages,
        size=received // messages - HEAD_BYTES,
    )


def middle(rounds: list[Sent]) -> Sent:
    """The medians."""
    return Sent(
        rate=statistics.median(one.rate for one in rounds),
        cpu_us=statistics.median(one.cpu_us for one in rounds),
        size=rounds[0].size,
    )


if __name__ == "__main__":
    main()
