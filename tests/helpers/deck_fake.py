"""A deck's server that says what a test has it say, right or wrong, to a real client."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import orjson
from gevent.pool import Pool
from gevent.server import StreamServer
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from mead.deck.protocol import SUBPROTOCOL

SESSION_ID: Final = "11111111-1111-4111-8111-111111111111"
TURN_ID: Final = "22222222-2222-4222-8222-222222222222"
AT: Final = "2026-11-30T14:00:00.000Z"
TICKET: Final = orjson.dumps(
    {"ticket": "a-ticket", "session_id": SESSION_ID, "expires_in_ms": 10_000}
)
SNAPSHOT: Final[dict[str, Any]] = {
    "session_id": SESSION_ID,
    "log_id": "33333333-3333-4333-8333-333333333333",
    "first_sequence": 1,
    "last_sequence": 0,
    "reset": False,
    "gap": False,
    "durable": True,
    "turn": None,
    "queue": [],
    "policy_level": "ask_for_risky",
    "remembered_tools": [],
    "pending": [],
    "title": None,
    "limits": {
        "frame_bytes": 65_536,
        "text_characters": 60_000,
        "heartbeat_ms": 15_000,
        "idle_timeout_ms": 90_000,
        "queue_limit": 10,
    },
}


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def message(type_: str, payload: Any, sequence: Any = None) -> bytes:
    """What a server says."""
    shape = {"type": type_, "at": AT, "payload": payload}
    return orjson.dumps(shape if sequence is None else {**shape, "sequence": sequence})


def prompt(client_message_id: str) -> dict[str, Any]:
    """The payload of a prompt.accepted."""
    about = {"client_message_id": client_message_id, "turn_id": TURN_ID}
    return {**about, "text": "hi", "route": None, "origin": "deck"}


class Visit:
    """One socket of a client."""

    def __init__(self, connection: socket.socket, head: bytes) -> None:
        self.connection = connection
        self._protocol = ServerProtocol(subprotocols=[Subprotocol(SUBPROTOCOL)])
        self._protocol.receive_data(head)
        (request,) = self._protocol.events_received()
        assert isinstance(request, Request)
        self._protocol.send_response(self._protocol.accept(request))
        self._flush()
        self._heard: list[dict[str, Any]] = []

    def hear(self) -> dict[str, Any]:
        """The next frame of the client.  Raises EOFError."""
        while not self._heard:
            data = self.connection.recv(65_536)
            if not data:
                raise EOFError
            self._protocol.receive_data(data)
            frames = [each for each in self._protocol.events_received() if isinstance(each, Frame)]
            self._heard += [orjson.loads(f.data) for f in frames if f.opcode is Opcode.TEXT]
            self._flush()
            if self._protocol.close_rcvd is not None and not self._heard:
                raise EOFError
        return self._heard.pop(0)

    def welcome(self, **changed: Any) -> None:
        """Answer the resume."""
        assert self.hear()["type"] == "session.resume"
        self.tell(message("session.snapshot", {**SNAPSHOT, **changed}))

    def hear_prompt(self) -> str:
        """The id of the next prompt."""
        while (frame := self.hear())["type"] != "prompt.send":
            pass
        return frame["payload"]["client_message_id"]

    def tell(self, text: bytes) -> None:
        """A text frame."""
        self.send(Frame(Opcode.TEXT, text).serialize(mask=False))

    def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self.connection.sendall(data)

    def close(self, code: int, reason: str = "") -> None:
        """End it, as a server does."""
        self.send(
            Frame(Opcode.CLOSE, code.to_bytes(2, "big") + reason.encode()).serialize(mask=False)
        )

    def answer_turn(self, text: str) -> None:
        """One whole turn, as the first of the log."""
        accepted = prompt(self.hear_prompt())
        value = {"turn_id": TURN_ID, "name": "tokens_out", "value": 1}
        self.tell(message("prompt.accepted", accepted, 1))
        self.tell(message("text.delta", {"turn_id": TURN_ID, "text": text}, 2))
        self.tell(message("metric.updated", value, 3))

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            self.connection.sendall(data)


class FakeDeck:
    """Its nth socket is given to the nth of `visits`, and those that follow to the last."""

    def __init__(
        self,
        *visits: Callable[[Visit], None],
        tickets: bytes = answer(TICKET),
        endless: bytes = b"",
    ) -> None:
        """`endless` is sent behind `tickets` again and again."""
        self.visits = list(visits)
        self._endless = endless
        self.tickets = tickets
        self.upgrade: bytes | None = None
        """What is answered instead of an upgrade."""
        self.came = 0
        """How many sockets there were."""
        self.asked: list[bytes] = []
        """The heads of all requests."""
        self.url = ""

    def serve(self, connection: socket.socket, _: object) -> None:
        try:
            self._serve(connection)
        except (OSError, EOFError):
            pass  # the client had enough
        finally:
            connection.close()

    def _serve(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (data := connection.recv(65_536)):
                return
            head += data
        self.asked.append(head)
        if not head.startswith(b"GET"):
            connection.sendall(self.tickets)
            while self._endless:
                connection.sendall(self._endless)
            return
        if self.upgrade is not None:
            connection.sendall(self.upgrade)
            return
        visit = self.visits[min(self.came, len(self.visits) - 1)]
        self.came += 1
        visit(Visit(connection, head))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


@contextmanager
def serving(deck: FakeDeck) -> Iterator[FakeDeck]:
    """The same, listening at `url`."""
    server = StreamServer(("127.0.0.1", 0), deck.serve, spawn=Pool(10))
    server.start()
    deck.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield deck
    finally:
        server.stop(1)
