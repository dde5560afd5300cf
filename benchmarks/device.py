"""A client of the deck that costs next to nothing: one socket, hardly any parsing."""

import json
import selectors
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DECK_TOKEN = "deck-token-of-the-benchmark-0123456789"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
BUFFER = 262_144


class Device:
    """A socket that has resumed from the beginning."""

    def __init__(self, port: int, session_id: str | None = None) -> None:
        body = {} if session_id is None else {"session_id": session_id}
        ticket = ask(port, "/deck/ticket", body)
        self.session_id = ticket["session_id"]
        self.ends = 0
        """How many turns have ended."""
        self._tail = b""
        protocol = f"mead.deck.v1, ticket.{ticket['ticket']}"
        self.socket = upgraded(port, "/deck/socket", protocol)
        self.socket.sendall(frame({"type": "session.resume", "payload": {"last_sequence": 0}}))
        self._read_until(b"session.snapshot")
        # The rest of the snapshot: its limits stand at its end.
        self._read_until(b'"queue_limit":')
        self._read_until(b"}}}")

    def send(self, text: str, message_id: str = "m1") -> None:
        """Ask."""
        self.socket.sendall(prompt(text, message_id))

    def read(self) -> bytes:
        """What has come."""
        data = self.socket.recv(BUFFER)
        assert data, "the server closed"
        tail = self._tail + data
        self.ends += tail.count(b'"tokens_out"')
        self._tail = tail[-len(b'"tokens_out"') + 1 :]
        return data

    def _read_until(self, mark: bytes) -> None:
        got = b""
        while not got.endswith(mark):
            got += self.socket.recv(1)


def prompt(text: str, message_id: str) -> bytes:
    """The frame that asks for a turn."""
    payload = {"client_message_id": message_id, "text": text}
    return frame({"type": "prompt.send", "payload": payload})


def frame(value: dict) -> bytes:
    """A text frame, masked with zeros."""
    return text_frame(json.dumps(value).encode())


def text_frame(data: bytes) -> bytes:
    """The same for a text that is ready."""
    assert len(data) < 65_536
    if len(data) < 126:
        return bytes([0x81, 0x80 | len(data)]) + b"\0\0\0\0" + data
    return bytes([0x81, 0x80 | 126]) + len(data).to_bytes(2, "big") + b"\0\0\0\0" + data


def upgraded(port: int, path: str, protocol: str | None = None) -> socket.socket:
    """A WebSocket whose handshake is done."""
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked = "" if protocol is None else f"Sec-WebSocket-Protocol: {protocol}\r\n"
    client.sendall(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {KEY}\r\n{asked}\r\n".encode()
    )
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += client.recv(1)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    return client


def read_until(
    devices: list[Device], take: Callable[..., None], is_done: Callable[[Device], bool]
) -> None:
    """Read from all of them until each is done."""
    waiting = set(devices)
    with selecting(devices) as selector:
        while waiting:
            for key, _ in selector.select(10):
                device: Device = key.data
                take(device, device.read())
                if is_done(device):
                    waiting.discard(device)


@contextmanager
def selecting(devices: list[Device]) -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as selector:
        for device in devices:
            selector.register(device.socket, selectors.EVENT_READ, device)
        yield selector


def leave(devices: list[Device]) -> None:
    for device in devices:
        device.socket.close()


def ask(port: int, path: str, body: dict | None = None, token: str = DECK_TOKEN) -> dict:
    """The JSON answer of a path."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)
