"""The deck under real gunicorn.  `.venv/bin/python -m benchmarks.bench_deck`

The client is this process: one thread, epoll, hardly any parsing.  Fan-out is compared with a bare
loop over the same sockets in the same worker, in turn.
"""

import re
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.device import DECK_TOKEN, Device, ask, leave, read_until, selecting
from benchmarks.report import figure, header, note
from benchmarks.servers import gunicorn

STREAMS = 50
TOKENS = 100
LISTENERS = 500
CALLS = 50
IDLE = 1000
REPLAY_CALLS = 2500
ROUNDS = 5
EVENTS_OF_A_CALL = 4
EVENTS_AROUND = 6
STAMP = re.compile(rb"(\d{10,}) ")
"""A token: a time in nanoseconds.  Several may be joined in one event."""
STAMP_BYTES = 24
"""The longest one, so that one which was cut is found with the next bytes."""

ROUTER = ""
PLAYER = 'turn_handler = "player"\nhandlers = { player = "tests.deck.e2e.player:Player" }\n'


def main() -> None:
    header("the deck", "websockets", "flask-sock", "gunicorn")
    with server(ROUTER, 'fsync = "turn"') as port:
        latency(port)
    with server(PLAYER, None) as port:
        fan_out(port)
    with server(PLAYER, None) as port:
        idle(port)
    with server(PLAYER, 'fsync = "never"') as port:
        replay(port)


def latency(port: int) -> None:
    """From the model's token to the client that reads it, with 50 conversations that stream."""
    devices = [Device(port) for _ in range(STREAMS)]
    before = ask(port, "/resident")["cpu_s"]
    for device in devices:
        device.send(str(TOKENS))
    p50, p99 = quantiles(stamped(devices))
    cpu_us = 1e6 * (ask(port, "/resident")["cpu_s"] - before) / (STREAMS * TOKENS)
    asked = socket.create_connection(("127.0.0.1", port))
    asked.sendall(
        b"GET /ticks?count=%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % TOKENS
    )
    bare50, bare99 = quantiles(stamped(devices))
    asked.close()
    figure(
        f"a token to its event, {STREAMS} streams of 20 tokens/s, storage on",
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        f" (bare greenlets on the same sockets: {bare50:.1f}, {bare99:.1f})",
        "p50 under 5 ms, p99 under 20 ms",
        met=p50 < 5 and p99 < 20,
    )
    note(f"{cpu_us:.0f} us of processor time for each token, from the router to the socket")
    leave(devices)


def stamped(devices: list["Device"]) -> list[float]:
    """How old each of so many tokens was when it was read, in ms."""
    times: list[float] = []
    rests: dict[Device, bytes] = {}
    with selecting(devices) as selector:
        while len(times) < STREAMS * TOKENS:
            for key, _ in selector.select(10):
                data, now = rests.get(key.data, b"") + key.data.read(), time.monotonic_ns()
                times.extend((now - int(stamp)) / 1e6 for stamp in STAMP.findall(data))
                rests[key.data] = STAMP.sub(b"", data)[-STAMP_BYTES:]
    return times


def quantiles(times: list[float]) -> tuple[float, float]:
    """p50 and p99."""
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.99)]


def fan_out(port: int) -> None:
    """The events of one conversation to 500 sockets, against the bare loop."""
    first = Device(port)
    devices = [first, *(Device(port, first.session_id) for _ in range(LISTENERS - 1))]
    events = CALLS * EVENTS_OF_A_CALL + EVENTS_AROUND
    deck: list[float] = []
    bare: list[float] = []
    for number in range(1, ROUNDS + 1):
        received = [0]

        def count(_: "Device", data: bytes, received: list[int] = received) -> None:
            received[0] += len(data)

        began = time.perf_counter()
        first.send(f"calls {CALLS} 0", f"m{number}")
        read_until(devices, count, lambda device, number=number: device.ends == number)
        deck.append(events * LISTENERS / (time.perf_counter() - began))
        size = received[0] // (events * LISTENERS) - 4  # a frame's head
        bare.append(events * LISTENERS / bare_round(port, devices, events, size))
    rate, yardstick = statistics.median(deck), statistics.median(bare)
    figure(
        f"fan-out of one conversation to {LISTENERS} sockets, of the bare loop's rate",
        f"{rate / yardstick:.2f} ({rate:,.0f} against {yardstick:,.0f} messages/s of {size} B)",
        "at least 0.7",
        met=rate >= 0.7 * yardstick,
    )
    leave(devices)


def bare_round(port: int, devices: list["Device"], events: int, size: int) -> float:
    """Seconds from the request to the last byte at the last client."""
    left = events * len(devices) * (size + 4)
    asked = socket.create_connection(("127.0.0.1", port))
    began = time.perf_counter()
    asked.sendall(
        f"GET /bare?size={size}&events={events} HTTP/1.1\r\nHost: localhost\r\n"
        "Connection: close\r\n\r\n".encode()
    )
    with selecting(devices) as selector:
        while left > 0:
            for key, _ in selector.select(10):
                left -= len(key.fileobj.recv(262_144))
    took = time.perf_counter() - began
    while asked.recv(65_536):
        pass
    asked.close()
    return took


def idle(port: int) -> None:
    """Resident memory of sockets that have resumed and now wait."""
    first = Device(port)
    Device(port, first.session_id).socket.close()  # what the first one loads is not counted
    time.sleep(0.5)
    before = ask(port, "/resident")
    devices = [Device(port, first.session_id) for _ in range(IDLE)]
    after = ask(port, "/resident")
    assert after["sockets"] - before["sockets"] == IDLE
    each = (after["bytes"] - before["bytes"]) / IDLE / 1024
    figure(f"memory of one of {IDLE:,} idle sockets", f"{each:.1f} KiB", "60 KiB", met=each <= 60)
    leave([first, *devices])


def replay(port: int) -> None:
    """Ten thousand events from the log in a file to a client that comes."""
    writer = Device(port)
    writer.send(f"calls {REPLAY_CALLS} 1")  # no faster, or it is itself too slow a client
    read_until([writer], lambda *_: None, lambda device: device.ends == 1)
    events = REPLAY_CALLS * EVENTS_OF_A_CALL + EVENTS_AROUND
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        device = Device(port, writer.session_id)
        read_until([device], lambda *_: None, lambda device: device.ends == 1)
        times.append(time.perf_counter() - began)
        device.socket.close()
    took = statistics.median(times)
    figure(f"replay of {events:,} events", f"{took:.2f} s", "under 1 s", met=took < 1)
    note(f"{events / took:,.0f} events/s, connecting included")
    writer.socket.close()


@contextmanager
def server(runtime: str, storage: str | None) -> Iterator[int]:
    """A gunicorn with a deck and room for 1,200 connections; its port."""
    stored = "" if storage is None else f'[storage]\ndirectory = "{{home}}/s"\n{storage}\n'
    toml = (
        f'[runtime]\ndefault_route = "local"\n{runtime}{stored}'
        f'[deck]\ntoken = "{DECK_TOKEN}"\nevent_log_limit = 1000000\n'
    )
    with gunicorn(toml, app="benchmarks.deck_app:app", places=1200) as running:
        yield running.port


if __name__ == "__main__":
    main()
