"""A FrameSocket without a network: for tests, and for a device inside the process.

What the device does is on the same object: `say` sends a frame, `hear` waits for a message of the
server.  A device that `stop_reading` fills its queue as a slow client does.
"""

import time
from collections import deque
from typing import Any, Final

import orjson

from mead.actors.green import Event, Queue, Timeout, pause, time_limit
from mead.protocols.sockets import Closed

QUEUE_FRAMES: Final = 1000
QUEUE_BYTES: Final = 1_048_576
HEAR_TIMEOUT_MS: Final = 5000


class MemorySocket:
    """See FrameSocket."""

    def __init__(self) -> None:
        self.closed: Closed | None = None
        self.last_activity = time.monotonic()
        self.pings = 0
        self.answers_pings = False
        """Whether the device's transport sends pongs, as a browser's does."""
        self.hear_timeout_ms = HEAR_TIMEOUT_MS
        self._said: Queue[str | bytes | None] = Queue()
        self._sent: deque[bytes] = deque()
        self._extra_bytes = 0
        """Of what waits, at most so much does not count against the limits."""
        self._more = Event()
        """Set when something was sent, or the socket closed."""
        self._emptied = Event()
        self._reads = True

    # -- the server's side -------------------------------------------------------------------------

    def receive(self, timeout_ms: float | None = None) -> str | bytes | None:
        with time_limit(timeout_ms) as limit:
            try:
                return None if self.closed is not None else self._said.get()
            except Timeout as timeout:
                if timeout is not limit:
                    raise
                raise TimeoutError from None

    def send(self, frame: bytes, *, counts: bool = True) -> bool:
        if self.closed is not None:
            return False
        size = sum(map(len, self._sent)) - self._extra_bytes
        if not counts:
            self._extra_bytes += len(frame)
        elif self._sent and (len(self._sent) >= QUEUE_FRAMES or size + len(frame) > QUEUE_BYTES):
            self._sent.clear()
            self.close(1013, "too slow")
            return False
        self._put(frame)
        return True

    def send_paced(self, frame: bytes) -> bool:
        while self._sent and self.closed is None:
            self._emptied.clear()
            self._emptied.wait()
        if self.closed is not None:
            return False
        self._put(frame)
        pause()
        return True

    def ping(self) -> bool:
        self.pings += 1
        if self.answers_pings:
            self.last_activity = time.monotonic()
        return self.closed is None

    def close(self, code: int = 1000, reason: str = "") -> None:
        if self.closed is None:
            self.closed = Closed(code, reason)
            self._said.put(None)
            self._more.set()
            self._emptied.set()

    @staticmethod
    def encode_text(text: bytes) -> bytes:
        """The text itself: there is no frame around it."""
        return text

    # -- the device's side -------------------------------------------------------------------------

    def say(self, type_: str, **payload: Any) -> None:
        """Send a frame."""
        self.say_raw(orjson.dumps({"type": type_, "payload": payload}).decode())

    def say_raw(self, message: str | bytes) -> None:
        """Send whatever that is."""
        self.last_activity = time.monotonic()
        self._said.put(message)

    def hang_up(self) -> None:
        """Go away without a word."""
        self.close(1006)

    def stop_reading(self) -> None:
        """Take nothing more of what is sent."""
        self._reads = False

    def hear(self, *types: str) -> dict[str, Any]:
        """The next message, of one of these types if any are given; others are passed over.

        Raises TimeoutError after `hear_timeout_ms`, and ConnectionError when the socket is closed
        and all was heard.
        """
        with time_limit(self.hear_timeout_ms) as limit:
            try:
                return self._hear(types)
            except Timeout as timeout:
                if timeout is not limit:
                    raise
                raise TimeoutError(f"no {' or '.join(types) or 'message'} was heard") from None

    def _hear(self, types: tuple[str, ...]) -> dict[str, Any]:
        while True:
            while self._sent and self._reads:
                frame = self._sent.popleft()
                message: dict[str, Any] = orjson.loads(frame)
                self._extra_bytes = max(0, self._extra_bytes - len(frame))
                if not self._sent:
                    self._emptied.set()
                if not types or message["type"] in types:
                    return message
            if self.closed is not None:
                raise ConnectionError(f"closed with {tuple(self.closed)}")
            self._more.clear()
            self._more.wait()

    def _put(self, frame: bytes) -> None:
        self._sent.append(frame)
        self._more.set()
