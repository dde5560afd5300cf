"""A client of the deck, in any Python: for tests, for `flask mead chat --url`, for programs.

    with DeckClient("http://127.0.0.1:4040", token) as deck:
        deck.send_prompt("What is tea?")
        for message in deck.messages():
            ...

It needs no gevent; in a patched process it is cooperative.  `messages` rejoins by itself after a
lost connection and goes on behind what was seen, so that every event is given once and in order; a
prompt that was not acknowledged is sent again under its id, and runs once.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

import orjson
import requests
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection

from mead.deck.client_errors import DeckClosed, DeckMisspoke, DeckRefused
from mead.deck.client_http import TIMEOUT_S, post
from mead.deck.client_messages import Message, read
from mead.deck.client_socket import OPEN_TIMEOUT_S, upgrade
from mead.deck.closing import ENDINGS, FAULTS, LOST, NORMAL, Closing, is_final, wants_a_pause
from mead.ids import is_uuid4, new_uuid

SILENCE_HEARTBEATS: Final = 3
"""So many heartbeats that do not come make a connection a dead one."""
LONGEST_HEARTBEAT_MS: Final = 3_600_000
"""That of the settings; what a server says may be anything."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 15.0
WORDS: Final = {401: "unauthorized", 403: "forbidden"}
"""For answers without a body."""
RETRIED: Final = frozenset({429, 502, 503, 504})
"""502 and 504 are those of a proxy whose Mead is restarting."""

_TICKET: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_HTTP_OK: Final = 200


class DeckClient:
    """One device.  Used from one greenlet or thread."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        session_id: str | None = None,
        device_id: str | None = None,
    ) -> None:
        """`url`: where the server is, `http://` or `https://`; `session_id`: None for a new one."""
        parts = urlsplit(url)
        self._base = url.rstrip("/")
        scheme = {"http": "ws", "https": "wss"}[parts.scheme]
        path = f"{parts.path.rstrip('/')}/deck/socket"
        self._socket_url = urlunsplit((scheme, parts.netloc, path, "", ""))
        self._token = token
        self._http = requests.Session()
        self._http.trust_env = False
        self._held = ExitStack()
        self._socket: ClientConnection | None = None
        self._unacknowledged: dict[str, Message] = {}
        self._silence_s = TIMEOUT_S
        self._pause_s = 0.0
        """How long to wait before rejoining; it grows until a connection brings something."""
        self.session_id = session_id
        self.device_id = device_id
        self.snapshot: Message = {}
        """The payload of the last session.snapshot."""
        self.log_id: str | None = None
        self.last_sequence = 0

    def __enter__(self) -> Self:
        with ExitStack() as failing:
            failing.callback(self.close)
            self.connect()
            failing.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- coming and going --------------------------------------------------------------------------

    def connect(self) -> Message:
        """Get a ticket, open the socket, resume; the payload of the snapshot.

        Raises DeckRefused, DeckClosed, DeckMisspoke, OSError.
        """
        self._drop()
        self.session_id, ticket = self._ticket()
        try:
            self._socket = self._held.enter_context(upgrade(self._socket_url, ticket))
        except WebSocketException as error:
            raise DeckClosed(LOST, type(error).__name__) from None
        return self._resume()

    def close(self) -> None:
        """Leave."""
        self._drop()
        self._http.close()

    def _drop(self) -> None:
        self._socket = None
        with suppress(OSError, WebSocketException):
            self._held.close()

    def _ticket(self) -> tuple[str, str]:
        """The id of the conversation, and what opens its socket."""
        body = {} if self.session_id is None else {"session_id": self.session_id}
        answer = post(self._http, f"{self._base}/deck/ticket", body, self._token)
        shape: Mapping[str, Any] = answer.shape or {}
        if answer.status != _HTTP_OK:
            word = shape.get("error", WORDS.get(answer.status))
            raise DeckRefused(answer.status, word if isinstance(word, str) else "error")
        session_id, ticket = shape.get("session_id"), shape.get("ticket")
        if not isinstance(ticket, str) or not _TICKET.fullmatch(ticket):
            raise DeckMisspoke("an answer without a ticket")
        if not isinstance(session_id, str) or not is_uuid4(session_id):
            raise DeckMisspoke("an answer without a session_id")
        return session_id, ticket

    def _resume(self) -> Message:
        resume: Message = {"last_sequence": self.last_sequence}
        for name in ("log_id", "device_id"):
            if (value := getattr(self, name)) is not None:
                resume[name] = value
        self.say("session.resume", **resume)
        snapshot = self.snapshot = self._snapshot()
        self.log_id = snapshot["log_id"]
        if snapshot["reset"] or snapshot["gap"]:
            self.last_sequence = snapshot["first_sequence"] - 1
        heartbeat_ms = min(snapshot["limits"]["heartbeat_ms"], LONGEST_HEARTBEAT_MS)
        self._silence_s = SILENCE_HEARTBEATS * heartbeat_ms / 1000
        for payload in list(self._unacknowledged.values()):
            self.say("prompt.send", **payload)
        return snapshot

    def _snapshot(self) -> Message:
        limit = time.monotonic() + OPEN_TIMEOUT_S
        while (left_s := limit - time.monotonic()) > 0:
            message = self._next(left_s)
            if message["type"] == "session.snapshot":
                return message["payload"]
        raise TimeoutError

    # -- talking -----------------------------------------------------------------------------------

    def say(self, type_: str, **payload: Any) -> None:
        """Send a frame.  Raises DeckClosed."""
        if self._socket is None:
            raise DeckClosed(LOST, "not connected")
        try:
            self._socket.send(orjson.dumps({"type": type_, "payload": payload}).decode())
        except ConnectionClosed as closed:
            raise _lost(closed) from None

    def send_prompt(self, text: str, *, route: str | None = None) -> str:
        """Send a prompt; its client_message_id.  Sent again after a rejoin, until it is known."""
        message_id = new_uuid()
        payload: Message = {"client_message_id": message_id, "text": text}
        if route is not None:
            payload["route"] = route
        self._unacknowledged[message_id] = payload
        with suppress(DeckClosed):  # then it is sent with the next connection
            self.say("prompt.send", **payload)
        return message_id

    def receive(self, timeout_s: float | None = None) -> Message:
        """The next message; an event that was seen before is passed over.

        Raises TimeoutError, DeckClosed, DeckMisspoke.
        """
        limit = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if limit is None else max(0.0, limit - time.monotonic())
            message = self._next(left_s)
            self._pause_s = 0.0
            if self._is_new(message):
                return message
            if limit is not None and time.monotonic() >= limit:
                raise TimeoutError

    def messages(self) -> Iterator[Message]:
        """Messages without end; after a lost connection it rejoins, and goes on with the snapshot.

        Ends when the conversation is gone for good or this client was closed.  Raises DeckRefused,
        DeckMisspoke, and DeckClosed when the server closed for a fault of this client.
        """
        try:
            while True:
                yield self._heard()
        except DeckClosed as closed:
            if closed.code not in ENDINGS:
                raise

    def _heard(self) -> Message:
        try:
            return self.receive(self._silence_s)
        except TimeoutError:
            return self.rejoin()
        except DeckClosed as closed:
            return self.rejoin(closed)

    def rejoin(
        self, after: DeckClosed | None = None, wait: Callable[[float], None] | None = None
    ) -> Message:
        """Connect, again and again until it succeeds; the session.snapshot.

        `after`: how the last connection ended.  `wait` is given the seconds between two attempts;
        what it raises ends them.  Raises DeckRefused, DeckMisspoke, and DeckClosed where there is
        nothing to come back to or this client did what it must not.
        """
        if after is not None:
            self._judge(after)
        while True:
            if self._pause_s:
                (wait or time.sleep)(self._pause_s * (0.5 + secrets.randbelow(1000) / 1000))
            self._pause_s = min(max(FIRST_PAUSE_S, 2 * self._pause_s), LONGEST_PAUSE_S)
            try:
                return {"type": "session.snapshot", "payload": self.connect()}
            except DeckRefused as refused:
                if refused.status not in RETRIED:
                    raise
            except DeckClosed as closed:
                self._judge(closed)
            except OSError:
                pass

    def _judge(self, closed: DeckClosed) -> None:
        """Return where a client comes back."""
        if is_final(closed.code):
            raise closed
        if wants_a_pause(Closing(closed.code, closed.reason)):
            self._pause_s = max(self._pause_s, FIRST_PAUSE_S)

    def _next(self, timeout_s: float | None) -> Message:
        if self._socket is None:
            raise DeckClosed(NORMAL.code, "not connected")
        try:
            return read(self._socket.recv(timeout_s))
        except ConnectionClosed as closed:
            raise _lost(closed) from None

    def _is_new(self, message: Message) -> bool:
        type_, payload, sequence = message["type"], message["payload"], message.get("sequence")
        if type_ in ("prompt.accepted", "prompt.rejected"):
            self._unacknowledged.pop(payload["client_message_id"], None)
        elif type_ == "frame.rejected" and payload["reason"] == "already_finished":
            self._unacknowledged.pop(payload.get("id", ""), None)
        if sequence is None:
            return True
        if sequence <= self.last_sequence:
            return False
        self.last_sequence = sequence
        return True


def _lost(closed: ConnectionClosed) -> DeckClosed | DeckMisspoke:
    """Which of the two: the server ended it, or what it sent was no WebSocket's."""
    told, said = closed.rcvd, closed.sent
    if said is not None and said.code in FAULTS and not closed.rcvd_then_sent:
        return DeckMisspoke(f"frames that mean nothing ({said.code})")
    return DeckClosed(LOST, "") if told is None else DeckClosed(told.code, told.reason)
