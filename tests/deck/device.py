"""A device at a conversation: an in-memory socket that the deck serves, and what it has seen."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import gevent

from mead.api import Mead
from mead.deck.deck import Deck
from mead.deck.memory_socket import MemorySocket

BOUND_S = 5


class Device:
    """Comes, resumes, talks, goes; keeps the events it was sent."""

    def __init__(
        self, mead: Mead, session_id: str, name: str | None = None, deck: Deck | None = None
    ) -> None:
        """`deck`: one of the test's own, instead of the runtime's."""
        self.mead = mead
        self.deck = deck
        self.session_id = session_id
        self.name = name
        self.events: list[dict[str, Any]] = []
        self.repeated: list[dict[str, Any]] = []
        """Events that it was sent once more, or too late."""
        self.snapshot: dict[str, Any] = {}
        self.socket_class: type[MemorySocket] = MemorySocket
        self.socket: MemorySocket
        self.greenlet: gevent.Greenlet

    # -- coming and going --------------------------------------------------------------------------

    def connect(self) -> "Device":
        """A socket of its own, before session.resume."""
        self.socket = self.socket_class()
        deck = self.deck or self.mead.deck()
        self.greenlet = gevent.spawn(deck.serve, self.socket, self.session_id)
        return self

    def resume(self, **payload: Any) -> dict[str, Any]:
        """Send session.resume and hear the snapshot."""
        fields: dict[str, Any] = {"last_sequence": self.last_sequence}
        if self.name is not None:
            fields["device_id"] = self.name
        self.socket.say("session.resume", **{**fields, **payload})
        self.snapshot = self.socket.hear("session.snapshot")["payload"]
        return self.snapshot

    def come(self, **payload: Any) -> "Device":
        """Connect and resume."""
        self.connect().resume(**payload)
        return self

    def leave(self) -> None:
        """Go away without a word, and wait until the deck has noticed."""
        self.socket.hang_up()
        self.greenlet.join(BOUND_S)

    def gone(self) -> tuple[int, str]:
        """How the deck closed the socket, once it has."""
        self.greenlet.join(BOUND_S)
        assert self.socket.closed is not None
        return tuple(self.socket.closed)

    # -- talking -----------------------------------------------------------------------------------

    @property
    def last_sequence(self) -> int:
        return self.events[-1]["sequence"] if self.events else 0

    def say(self, type_: str, **payload: Any) -> None:
        self.socket.say(type_, **payload)

    def send(self, text: str, message_id: str = "m1", **more: Any) -> None:
        self.say("prompt.send", client_message_id=message_id, text=text, **more)

    def hear(self, *types: str) -> dict[str, Any]:
        """The next message of one of these types; every event on the way is kept."""
        while True:
            message = self.socket.hear()
            if "sequence" in message:
                is_new = message["sequence"] > self.last_sequence
                (self.events if is_new else self.repeated).append(message)
            if not types or message["type"] in types:
                return message

    def hear_end(self) -> list[dict[str, Any]]:
        """Everything up to the end of the turn; the events so far."""
        while True:
            message = self.hear("metric.updated")
            if message["payload"]["name"] == "tokens_out":
                return self.events

    def hear_all(self, upto: int) -> list[dict[str, Any]]:
        """Everything up to that sequence; the events so far."""
        while self.last_sequence < upto:
            self.hear()
        return self.events

    def hear_out(self) -> list[dict[str, Any]]:
        """Everything until the socket is closed; the events so far."""
        with suppress(ConnectionError):
            while True:
                self.hear()
        return self.events

    def ask(self, text: str, message_id: str = "m1", **more: Any) -> str:
        """Send a prompt and hear the turn out; the text that was streamed."""
        before = len(self.events)
        self.send(text, message_id, **more)
        return text_of(self.hear_end()[before:])

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def of(self, type_: str) -> list[dict[str, Any]]:
        """The payloads of the events of that type."""
        return [event["payload"] for event in self.events if event["type"] == type_]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(e["payload"]["text"] for e in events if e["type"] == "text.delta")


class Devices:
    """Everyone who came, so that nobody stays."""

    def __init__(self) -> None:
        self._all: list[Device] = []

    def at(
        self, mead: Mead, session_id: str, name: str | None = None, deck: Deck | None = None
    ) -> Device:
        device = Device(mead, session_id, name, deck)
        self._all.append(device)
        return device

    def all_leave(self) -> None:
        for device in self._all:
            if hasattr(device, "socket"):
                device.socket.hang_up()
                device.greenlet.join(BOUND_S)


@contextmanager
def everyone() -> Iterator[Devices]:
    devices = Devices()
    try:
        yield devices
    finally:
        devices.all_leave()
