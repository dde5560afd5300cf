"""The WebSocket engine under real gunicorn.  `.venv/bin/python -m benchmarks.bench_websocket`

Fan-out is compared with a bare loop that encodes each event once and calls `sendall` for every
client, in the same worker, in turn.  The client is this process: one thread, epoll, no parsing.
"""

import json
import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.device import ask, upgraded
from benchmarks.report import figure, header, note
from benchmarks.servers import gunicorn

CLIENTS = 500
IDLE = 1000
EVENTS = 200
REPLAY = 10_000
ROUNDS = 5
FRAME_BYTES = 102
ECHO = b"\x81\xe4\0\0\0\0" + b"x" * 100


def main() -> None:
    header("the WebSocket engine", "websockets", "flask-sock", "gunicorn")
    with server() as port:
        fan_out(port)
    with server() as port:
        echo(port)
        replay(port)
    with server() as port:
        idle(port)


def fan_out(port: int) -> None:
    """Events to 500 sockets, one at a time and in bursts, against the bare loop."""
    clients = [upgraded(port, "/fan") for _ in range(CLIENTS)]
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client, selectors.EVENT_READ)
    for burst in (1, 10):
        rates: dict[str, list[float]] = {"bare": [], "queued": []}
        cpu: dict[str, list[float]] = {"bare": [], "queued": []}
        for _ in range(ROUNDS):
            for way in rates:
                rate, cpu_us = broadcast(port, selector, way, burst)
                rates[way].append(rate)
                cpu[way].append(cpu_us)
        bare, queued = (statistics.median(rates[way]) for way in ("bare", "queued"))
        figure(
            f"fan-out to {CLIENTS} sockets, {burst} event(s) at a time, of the bare loop's rate",
            f"{queued / bare:.2f} ({queued:,.0f} against {bare:,.0f} messages/s;"
            f" {statistics.median(cpu['queued']):.1f} against"
            f" {statistics.median(cpu['bare']):.1f} us CPU each)",
            "at least 0.7",
            met=queued >= 0.7 * bare,
        )
    for client in clients:
        client.close()


def broadcast(
    port: int, selector: selectors.BaseSelector, way: str, burst: int
) -> tuple[float, float]:
    """Messages a second from the request to the last byte at the last client, and us CPU each."""
    asked = socket.create_connection(("127.0.0.1", port))
    path = f"/broadcast?way={way}&events={EVENTS}&burst={burst}"
    began = time.perf_counter()
    asked.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    expected = EVENTS * CLIENTS * FRAME_BYTES
    received = 0
    while received < expected:
        for key, _ in selector.select(10):
            received += len(key.fileobj.recv(262_144))
    took = time.perf_counter() - began
    answer = b""
    while data := asked.recv(65_536):
        answer += data
    asked.close()
    cpu_s = json.loads(answer.partition(b"\r\n\r\n")[2])["cpu_s"]
    messages = EVENTS * CLIENTS
    return messages / took, 1e6 * cpu_s / messages


def echo(port: int) -> None:
    """100-byte messages back and forth, one under way on each connection."""
    for count in (1, 50, 500):
        clients = [upgraded(port, "/echo") for _ in range(count)]
        times = exchange(clients, 3.0)
        p50, p99 = (1000 * times[int(len(times) * part)] for part in (0.5, 0.99))
        note(
            f"echo of 100 B, {count} connection(s): {len(times) / 3:,.0f} messages/s,"
            f" p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        )
        for client in clients:
            client.close()


def replay(port: int) -> None:
    """Ten thousand frames at the client's pace, each given by itself."""
    client = upgraded(port, "/replay")
    began = time.perf_counter()
    received = 0
    while received < REPLAY * FRAME_BYTES:
        received += len(client.recv(262_144))
    note(f"replay of {REPLAY:,} frames: {time.perf_counter() - began:.2f} s")
    client.close()


def exchange(clients: list[socket.socket], seconds: float) -> list[float]:
    """Round-trip times, sorted."""
    selector = selectors.DefaultSelector()
    sent: dict[int, float] = {}
    times: list[float] = []
    for client in clients:
        selector.register(client, selectors.EVENT_READ)
        client.sendall(ECHO)
        sent[client.fileno()] = time.perf_counter()
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for key, _ in selector.select(1):
            key.fileobj.recv(65_536)
            now = time.perf_counter()
            times.append(now - sent[key.fd])
            sent[key.fd] = now
            key.fileobj.sendall(ECHO)
    times.sort()
    return times


def idle(port: int) -> None:
    """Resident memory of sockets that have sent one message each and now wait."""
    upgraded(port, "/fan").close()  # what the first one loads is not counted
    before = ask(port, "/resident")["bytes"]
    clients = [upgraded(port, "/fan") for _ in range(IDLE)]
    for client in clients:
        client.sendall(ECHO)
    while ask(port, "/resident")["sockets"] < IDLE:
        time.sleep(0.1)
    each = (ask(port, "/resident")["bytes"] - before) / IDLE / 1024
    figure(f"memory of one of {IDLE} idle sockets", f"{each:.1f} KiB", "30 KiB", met=each <= 30)
    for client in clients:
        client.close()


@contextmanager
def server() -> Iterator[int]:
    """A gunicorn with room for 1,200 connections; its port."""
    with gunicorn(app="benchmarks.websocket_app:app", places=1200) as running:
        yield running.port


if __name__ == "__main__":
    main()
