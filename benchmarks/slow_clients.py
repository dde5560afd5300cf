"""Clients that hold their connections: `python benchmarks/slow_clients.py PORT COUNT`.

Half of them send a head, half a body, one byte a second; who is cut comes back.  A line on stdout
says when all are connected.  Ends when stdin does.
"""

import selectors
import socket
import sys
import time

HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
BODY = HEAD + b"Authorization: Bearer %b\r\nContent-Length: 100000\r\n\r\n"


def connected(port: int, first: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(first)
    connection.setblocking(False)
    return connection


def is_open(connection: socket.socket) -> bool:
    """Send one byte more; whether the server still listens."""
    try:
        connection.send(b"x")
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def main(port: int, count: int, token: bytes) -> None:
    firsts = [HEAD if number % 2 else BODY % token for number in range(count)]
    held = [connected(port, first) for first in firsts]
    print("connected", flush=True)
    ended = selectors.DefaultSelector()
    ended.register(sys.stdin, selectors.EVENT_READ)
    while not ended.select(0):
        began = time.monotonic()
        for number, connection in enumerate(held):
            if not is_open(connection):
                connection.close()
                held[number] = connected(port, firsts[number])
        ended.select(max(0.0, began + 1 - time.monotonic()))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode())
