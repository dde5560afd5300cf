"""What waits to be sent to one client: bounded, joined, never in the way of the sender.

Whoever has frames gives them here and goes on.  The flusher sends what the kernel takes at once;
when it takes no more, a writer greenlet of this socket's own waits for the client, and ends when
all is sent.  Source: SPEC section 8, "Back pressure".
"""

import logging
import socket
from collections.abc import Callable
from typing import Final

from mead.actors.exits import Outcome
from mead.actors.green import Event, Killed, pause
from mead.actors.tasks import Task, TaskSupervisor
from mead.web.logs import where
from mead.web.websocket.flusher import Flusher
from mead.web.websocket.wire import send_now

log = logging.getLogger(__name__)

QUEUE_BYTES: Final = 1_048_576
QUEUE_FRAMES: Final = 1000

JOIN_BYTES: Final = 65_536
"""Frames are joined up to here: it bounds what must still be sent ahead of a Close."""

CONTROL_BYTES: Final = 65_536
CONTROL_COST_BYTES: Final = 512
"""So many bytes of pongs may wait before no more is read, each counted as at least so many."""

PACED_IN_A_ROW_BYTES: Final = 65_536
"""A replay to a client that reads quickly gives way after so many bytes."""


class Outgoing:
    """The frames of one socket on their way to the kernel."""

    __slots__ = (
        "_connection",
        "_control_bytes",
        "_emptied",
        "_extra_bytes",
        "_extra_frames",
        "_flusher",
        "_on_broken",
        "_queue",
        "_rest",
        "_rest_frames",
        "_scheduled",
        "_sealed",
        "_since_pause",
        "_tasks",
        "_writer",
        "broken",
        "pending_bytes",
        "sent_bytes",
    )

    def __init__(
        self,
        connection: socket.socket,
        flusher: Flusher,
        tasks: TaskSupervisor,
        on_broken: Callable[[], None],
    ) -> None:
        """`on_broken` is called once, perhaps in the hub, when the connection takes no more."""
        self.pending_bytes = 0
        """What the kernel has not taken yet."""
        self.sent_bytes = 0
        """What it has taken."""
        self.broken = False
        """Whether the connection failed, or `stop` was called."""
        self._connection = connection
        self._flusher = flusher
        self._tasks = tasks
        self._on_broken = on_broken
        self._queue: list[bytes] = []
        self._rest: bytes | memoryview = b""
        """Joined frames of which a part may be sent already."""
        self._rest_frames = 0
        self._extra_bytes = 0
        """Of what is pending, at most so much does not count against the limits."""
        self._extra_frames = 0
        self._control_bytes = 0
        self._scheduled = False
        self._sealed = False
        self._since_pause = 0
        self._writer: Task[None] | None = None
        self._emptied: Event | None = None

    # -- giving frames -----------------------------------------------------------------------------

    def offer(self, frame: bytes, *, counts: bool = True) -> bool:
        """Queue a frame; False when the queue would hold too much.

        One alone may be larger, and one that does not count is always taken.
        """
        if counts and self.pending_bytes and self._is_full(len(frame)):
            return False
        if self._append(frame) if counts else self._append_extra(frame):
            self._schedule()
        return True

    def put(self, frame: bytes) -> None:
        """Queue control frames, which do not count; `control_room` bounds them."""
        self._control_bytes += max(len(frame), CONTROL_COST_BYTES)
        if self._append_extra(frame):
            self._schedule()

    def put_paced(self, frame: bytes) -> bool:
        """Wait until all before it is sent, then send a frame that does not count.

        False when there is no sending any more.  Blocks on: the client.
        """
        self._since_pause += len(frame)
        if self._since_pause > PACED_IN_A_ROW_BYTES:
            self._since_pause = 0
            pause()
        if not self.wait_until_empty() or not self._append_extra(frame):
            return False
        self.flush()
        return True

    def control_room(self) -> None:
        """Wait while many control frames wait: who sends them pings and does not read the pongs.

        Blocks on: the client.
        """
        if self._control_bytes > CONTROL_BYTES:
            self.wait_until_empty()

    def seal(self, last: bytes | None, *, drop: bool) -> None:
        """Take no frame after `last`; with `drop`, forget those that have not begun to be sent."""
        if drop:
            self.pending_bytes -= sum(map(len, self._queue))
            self._queue.clear()
        if last is not None:
            self.put(last)
        self._sealed = True

    def wait_until_empty(self) -> bool:
        """Wait until the kernel has all; False when it never will.  Blocks on: the client."""
        while self.pending_bytes and not self.broken:
            if self._emptied is None:
                self._emptied = Event()
            self._emptied.wait()
        return not self.broken

    def stop(self) -> None:
        """Send nothing more.  Blocks on: nothing."""
        self.broken = True
        if self._writer is not None:
            self._writer.kill()
        self._queue.clear()
        self._rest = b""
        self.pending_bytes = 0
        self._tell()

    def _is_full(self, more_bytes: int) -> bool:
        frames = len(self._queue) + self._rest_frames - self._extra_frames
        return (
            frames >= QUEUE_FRAMES
            or self.pending_bytes - self._extra_bytes + more_bytes > QUEUE_BYTES
        )

    def _append(self, frame: bytes) -> bool:
        if self._sealed or self.broken:
            return False
        self._queue.append(frame)
        self.pending_bytes += len(frame)
        return True

    def _append_extra(self, frame: bytes) -> bool:
        self._extra_bytes += len(frame)
        self._extra_frames += 1
        return self._append(frame)

    def _schedule(self) -> None:
        """Have the flusher come by, unless it will or a writer is at it."""
        if not self._scheduled and self._writer is None:
            self._scheduled = True
            self._flusher.add(self)

    # -- sending them ------------------------------------------------------------------------------

    def flush(self) -> None:
        """Send what the kernel takes now; a writer sees to the rest.  Blocks on: nothing."""
        self._scheduled = False
        if self._writer is not None or self.broken:
            return
        try:
            while self._rest or self._take():
                if not self._advance(send_now(self._connection, self._rest)):
                    self._writer = self._tasks.start(
                        self._write, name="WebSocket writer", on_end=self._written
                    )
                    return
        except Exception as error:  # noqa: BLE001 - the flusher goes on with the next socket
            self._break(error)
        else:
            self._tell()

    def _take(self) -> bool:
        """Make `_rest` of queued frames; False when there are none."""
        queue = self._queue
        if not queue:
            return False
        count, size = 1, len(queue[0])
        while count < len(queue) and (size := size + len(queue[count])) <= JOIN_BYTES:
            count += 1
        self._rest = queue[0] if count == 1 else b"".join(queue[:count])
        self._rest_frames = count
        del queue[:count]
        return True

    def _advance(self, sent: int) -> bool:
        """Note that so much of `_rest` is sent; whether that was all of it."""
        self.pending_bytes -= sent
        self.sent_bytes += sent
        self._extra_bytes = max(0, self._extra_bytes - sent)  # what is paced is always the next
        if sent < len(self._rest):
            self._rest = memoryview(self._rest)[sent:]
            return False
        self._rest = b""
        self._rest_frames = 0
        return True

    def _write(self) -> None:
        """The writer's whole life.  Blocks on: the client."""
        while self._rest or self._take():
            self._advance(self._connection.send(self._rest))

    def _written(self, outcome: Outcome[None]) -> None:
        """Runs in the hub."""
        self._writer = None
        if outcome.error is not None:
            self._break(outcome.error)
        elif self._queue:  # given after its last look
            self._schedule()
        else:
            self._tell()

    def _break(self, error: BaseException) -> None:
        if not isinstance(error, OSError | ValueError | Killed):  # ValueError: TLS that is closed
            log.error("a bug in sending to a WebSocket: %s", where(error))
        if not self.broken:
            self.stop()
            self._on_broken()

    def _tell(self) -> None:
        """All is sent, or nothing will be."""
        self._extra_bytes = self._extra_frames = self._control_bytes = 0
        emptied, self._emptied = self._emptied, None
        if emptied is not None:
            emptied.set()
