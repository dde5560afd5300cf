"""A device over a real WebSocket: gets a ticket, connects, resumes, keeps what it was sent."""

import json
from typing import Any, Self

from tests.helpers.raw_websocket import CLOSE, PING, PONG, TEXT, RawClient, masked, upgrade_request
from tests.helpers.server import DECK_TOKEN, Server
from tests.web.conftest import TLS

KEY = {"Authorization": f"Bearer {DECK_TOKEN}"}


def ask(server: Server, method: str, path: str, *, token: str = DECK_TOKEN, **options: Any) -> Any:
    """A request to the deck, with its token."""
    headers = {"Authorization": f"Bearer {token}"}
    options.setdefault("verify", str(TLS / "cert.pem"))
    return server.request(method, f"/deck/{path}", headers=headers, **options)


def ticket(server: Server, session_id: str | None = None) -> dict[str, Any]:
    """A ticket and the id of its conversation."""
    body = {} if session_id is None else {"session_id": session_id}
    answer = ask(server, "POST", "ticket", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def connections(server: Server) -> int:
    """How many the server counts, the one that asks among them."""
    lines = server.get("/metrics", headers=KEY).text.split("\n")
    return int(next(line.split()[1] for line in lines if line.startswith("mead_connections ")))


def offer(value: str) -> str:
    """The header that carries a ticket."""
    return f"Sec-WebSocket-Protocol: mead.deck.v1, ticket.{value}"


class Client:
    """One device; a context manager."""

    def __init__(self, server: Server, session_id: str | None = None, name: str = "phone") -> None:
        self.server = server
        self.session_id = session_id
        self.name = name
        self.log_id: str | None = None
        self.snapshot: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        """Messages that are in no log."""
        self.socket: RawClient
        self.closed: tuple[int, str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    # -- coming and going --------------------------------------------------------------------------

    def connect(self, buffer: int = 0) -> Self:
        """A socket with a fresh ticket, before session.resume."""
        self.leave()
        issued = ticket(self.server, self.session_id)
        self.session_id = issued["session_id"]
        ca = TLS / "cert.pem" if self.server.scheme == "https" else None
        self.socket = RawClient.open(self.server.port, ca=ca, buffer=buffer, host=self.server.host)
        self.socket.send(upgrade_request("/deck/socket", offer(issued["ticket"])))
        head = self.socket.receive_head()
        assert head.startswith("HTTP/1.1 101 "), head
        assert "Sec-WebSocket-Protocol: mead.deck.v1\r\n" in head
        self.closed = None
        return self

    def come(self, buffer: int = 0) -> Self:
        """Connect and resume behind what was seen."""
        self.connect(buffer)
        resume = {"last_sequence": self.last_sequence, "device_id": self.name}
        self.say("session.resume", **resume, **({"log_id": self.log_id} if self.log_id else {}))
        self.snapshot = self.hear("session.snapshot")["payload"]
        self.log_id = self.snapshot["log_id"]
        return self

    def leave(self) -> None:
        """Drop the connection without a word."""
        if hasattr(self, "socket"):
            self.socket.connection.close()

    # -- talking -----------------------------------------------------------------------------------

    @property
    def last_sequence(self) -> int:
        return self.events[-1]["sequence"] if self.events else 0

    def say(self, type_: str, **payload: Any) -> None:
        self.socket.send_text(json.dumps({"type": type_, "payload": payload}))

    def send(self, text: str, message_id: str = "m1") -> None:
        self.say("prompt.send", client_message_id=message_id, text=text)

    def receive(self) -> dict[str, Any]:
        """The next message; pings are answered.  Raises ConnectionError at the end."""
        while (got := self.socket.receive()) is not None:
            if got.opcode is PING:
                self.socket.send(masked(PONG, got.data))
            elif got.opcode is CLOSE:
                self.closed = int.from_bytes(got.data[:2], "big"), got.data[2:].decode()
                self.socket.send(masked(CLOSE, got.data))
            else:
                assert got.opcode is TEXT
                return self._kept(json.loads(got.data))
        raise ConnectionError(f"closed: {self.closed}")

    def hear(self, *types: str) -> dict[str, Any]:
        """The next message of one of these types."""
        while True:
            message = self.receive()
            if message["type"] in types:
                return message

    def hear_end(self) -> list[dict[str, Any]]:
        """Everything up to the end of a turn; all events so far."""
        while self.hear("metric.updated")["payload"]["name"] != "tokens_out":
            pass
        return self.events

    def hear_out(self) -> tuple[int, str] | None:
        """Everything until the server closes; how it did."""
        try:
            while True:
                self.receive()
        except ConnectionError:
            return self.closed

    def ask(self, text: str, message_id: str = "m1") -> str:
        """Send a prompt and hear the turn out; the text that was streamed."""
        before = len(self.events)
        self.send(text, message_id)
        return text_of(self.hear_end()[before:])

    def of(self, type_: str) -> list[dict[str, Any]]:
        """The payloads of the events of that type."""
        return [event["payload"] for event in self.events if event["type"] == type_]

    def _kept(self, message: dict[str, Any]) -> dict[str, Any]:
        if "sequence" not in message:
            self.others.append(message)
        elif message["sequence"] > self.last_sequence:
            assert message["sequence"] == self.last_sequence + 1, "a gap"
            self.events.append(message)
        return message


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(e["payload"]["text"] for e in events if e["type"] == "text.delta")
