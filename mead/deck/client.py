"""A client of the deck, in any Python: for tests, for `flask mead chat --url`, for programs.

    with DeckClient("http://127.0.0.1:4040", token) as deck:
        deck.send_prompt("What is tea?")
        for message in deck.messages():
            ...

It needs no gevent; in a patched process it is cooperative.  `messages` rejoins by itself after a
lost connection and goes on behind what was seen, so that every event is given once and in order; a
prompt that was not acknowledged is sent again under its id, and runs once.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Final, Self, cast
from urllib.parse import urlsplit, urlunsplit

import orjson
import requests
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from mead.deck.closing import GONE, NORMAL
from mead.deck.protocol import SUBPROTOCOL
from mead.ids import new_uuid

HTTP_TIMEOUT_S: Final = 30.0
OPEN_TIMEOUT_S: Final = 10.0
CLOSE_TIMEOUT_S: Final = 1.0
SILENCE_HEARTBEATS: Final = 3
"""So many heartbeats that do not come make a connection a dead one."""
MESSAGE_BYTES: Final = 16 * 1_048_576
"""A snapshot may hold a queue of long prompts."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 15.0
WORDS: Final = {401: "unauthorized", 403: "forbidden"}
"""For answers without a body."""
RETRIED: Final = frozenset({429, 503})

Message = dict[str, Any]


class DeckRefused(Exception):
    """The server gave no ticket: `status` is HTTP's, `code` the server's word for it."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"the deck refused: {code} ({status})")
        self.status = status
        self.code = code


class DeckClosed(Exception):
    """The server closed the socket, or it was lost (code 1006)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"the deck closed the socket: {code} {reason}".rstrip())
        self.code = code
        self.reason = reason


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
        self._silence_s = HTTP_TIMEOUT_S
        self._pause_s = 0.0
        """How long to wait before rejoining; it grows until a connection brings something."""
        self.session_id = session_id
        self.device_id = device_id
        self.snapshot: Message = {}
        """The payload of the last session.snapshot."""
        self.log_id: str | None = None
        self.last_sequence = 0

    def __enter__(self) -> Self:
        self.connect()
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

        Raises DeckRefused, DeckClosed, OSError.
        """
        self._drop()
        ticket = self._ticket()
        self.session_id = ticket["session_id"]
        subprotocols = [Subprotocol(SUBPROTOCOL), Subprotocol(f"ticket.{ticket['ticket']}")]
        try:
            self._socket = self._held.enter_context(
                connect(
                    self._socket_url,
                    subprotocols=subprotocols,
                    compression=None,
                    proxy=None,
                    ping_interval=None,
                    open_timeout=OPEN_TIMEOUT_S,
                    close_timeout=CLOSE_TIMEOUT_S,
                    max_size=MESSAGE_BYTES,
                )
            )
        except WebSocketException as error:
            raise DeckClosed(1006, type(error).__name__) from None
        return self._resume()

    def close(self) -> None:
        """Leave."""
        self._drop()
        self._http.close()

    def _drop(self) -> None:
        self._socket = None
        with suppress(OSError, WebSocketException):
            self._held.close()

    def _ticket(self) -> Message:
        answer = self._http.post(
            f"{self._base}/deck/ticket",
            json={} if self.session_id is None else {"session_id": self.session_id},
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=HTTP_TIMEOUT_S,
            allow_redirects=False,
        )
        shape = _object(answer.content)
        if answer.status_code != requests.codes.ok:
            word = WORDS.get(answer.status_code, "error")
            raise DeckRefused(answer.status_code, str(shape.get("error", word)))
        return shape

    def _resume(self) -> Message:
        resume: Message = {"last_sequence": self.last_sequence}
        for name in ("log_id", "device_id"):
            if (value := getattr(self, name)) is not None:
                resume[name] = value
        self.say("session.resume", **resume)
        message = self._next(OPEN_TIMEOUT_S)
        while message["type"] != "session.snapshot":
            message = self._next(OPEN_TIMEOUT_S)
        snapshot = self.snapshot = message["payload"]
        self.log_id = snapshot["log_id"]
        if snapshot["reset"] or snapshot["gap"]:
            self.last_sequence = snapshot["first_sequence"] - 1
        self._silence_s = SILENCE_HEARTBEATS * snapshot["limits"]["heartbeat_ms"] / 1000
        for payload in list(self._unacknowledged.values()):
            self.say("prompt.send", **payload)
        return snapshot

    # -- talking -----------------------------------------------------------------------------------

    def say(self, type_: str, **payload: Any) -> None:
        """Send a frame.  Raises DeckClosed."""
        if self._socket is None:
            raise DeckClosed(1006, "not connected")
        try:
            self._socket.send(orjson.dumps({"type": type_, "payload": payload}).decode())
        except ConnectionClosed as closed:
            raise _closed(closed) from None

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

        Raises TimeoutError, DeckClosed.
        """
        limit = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if limit is None else max(0.0, limit - time.monotonic())
            message = self._next(left_s)
            self._pause_s = 0.0
            if self._is_new(message):
                return message

    def messages(self) -> Iterator[Message]:
        """Messages without end; after a lost connection it rejoins, and goes on with the snapshot.

        Ends when the conversation is gone for good or this client was closed.  Raises DeckRefused.
        """
        while True:
            try:
                yield self.receive(self._silence_s)
            except (DeckClosed, TimeoutError) as lost:
                if isinstance(lost, DeckClosed) and lost.code in (GONE.code, NORMAL.code):
                    return
                yield {"type": "session.snapshot", "payload": self._rejoin()}

    def _rejoin(self) -> Message:
        while True:
            if self._pause_s:
                time.sleep(self._pause_s * (0.5 + secrets.randbelow(1000) / 1000))
            self._pause_s = min(max(FIRST_PAUSE_S, 2 * self._pause_s), LONGEST_PAUSE_S)
            try:
                return self.connect()
            except DeckRefused as refused:
                if refused.status not in RETRIED:
                    raise
            except (DeckClosed, OSError, TimeoutError):
                pass

    def _next(self, timeout_s: float | None) -> Message:
        if self._socket is None:
            raise DeckClosed(1000, "not connected")
        try:
            return _object(self._socket.recv(timeout_s))
        except ConnectionClosed as closed:
            raise _closed(closed) from None

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


def _object(data: str | bytes) -> Message:
    """The JSON object that it holds; an empty one for anything else."""
    try:
        shape: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return cast(Message, shape) if isinstance(shape, dict) else {}


def _closed(closed: ConnectionClosed) -> DeckClosed:
    frame = closed.rcvd
    return DeckClosed(1006, "") if frame is None else DeckClosed(frame.code, frame.reason)
