"""A bounded load generator: `python benchmarks/load.py < plan.json`, one thread, epoll.

Each of its keep-alive connections sends a request as soon as the last one is answered.
The plan: {"port", "connections", "seconds", "request" (the whole of it, as text)}.  The report on
stdout: {"requests", "sent", "rate", "p50_ms", "p99_ms", "most_ms", "errors"}.
"""

import json
import selectors
import socket
import sys
import time

WARM_UP = 0.3
"""Of the time, for which nothing is counted."""


class Connection:
    """One keep-alive connection."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = request
        self.received = b""
        self.usual_length = 0
        self.sent_at = 0.0

    def send(self) -> None:
        self.received = b""
        self.sent_at = time.perf_counter()
        self.socket.sendall(self.request)

    def receive(self) -> int | None:
        """The status once the answer is whole.  Raises ConnectionError.

        An answer as long as the one before is whole: reading every head again would cost as much
        as a server's own work.
        """
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("closed")
        self.received = self.received + data if self.received else data
        if len(self.received) != self.usual_length:
            head, found, body = self.received.partition(b"\r\n\r\n")
            if not found:
                return None
            length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            if len(body) < length:
                return None
            self.usual_length = len(self.received)
        return int(self.received[9:12])


def run(plan: dict) -> dict:
    """Load the server for that long."""
    request = plan["request"].encode()
    connections = [Connection(plan["port"], request) for _ in range(plan["connections"])]
    selector = selectors.DefaultSelector()
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    began = time.perf_counter()
    counts_from = began + WARM_UP * plan["seconds"]
    ends = began + plan["seconds"]
    times: list[float] = []
    errors, sent = 0, len(connections)
    for connection in connections:
        connection.send()
    while (now := time.perf_counter()) < ends:
        for key, _ in selector.select(1):
            status = key.data.receive()
            if status is None:
                continue
            now = time.perf_counter()
            if now >= counts_from:
                times.append(now - key.data.sent_at)
                errors += status != 200
            key.data.send()
            sent += 1
    for connection in connections:
        connection.socket.close()
    times.sort()
    return {
        "requests": len(times),
        "sent": sent,
        "rate": len(times) / (ends - counts_from),
        "p50_ms": 1000 * times[len(times) // 2],
        "p99_ms": 1000 * times[int(len(times) * 0.99)],
        "most_ms": 1000 * times[-1],
        "errors": errors,
    }


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin))))
