"""A tool call that is watched: server-sent events with the text so far, then the answer.

The call runs in a task of its own, which nobody kills: a client that goes away does not abort its
turn (SPEC section 6), so the task waits on for the turn, at most as long as that may take.
"""

from collections.abc import Iterator
from typing import Final

from mead.actors.exits import Outcome
from mead.actors.green import Event
from mead.actors.tasks import TaskSupervisor
from mead.mcp.server.dispatcher import WatchedCall

COMMENT_S: Final = 15.0
"""Proxies cut a silent answer: Heroku after 30 s before its first byte and 55 s after that."""

PACE_S: Final = 0.25
"""Fragments of an answer that come within this time are shown together."""

GROWTH: Final = 16
"""The next progress waits until the text has grown by a 16th, so that showing all of a text again
and again costs at most 17 times its length."""

_FIRST: Final = b": the answer follows\n\n"
_COMMENT: Final = b": still at it\n\n"


class ProgressStream:
    """The body of a watched call's answer."""

    def __init__(
        self,
        call: WatchedCall,
        tasks: TaskSupervisor,
        *,
        comment_s: float = COMMENT_S,
        pace_s: float = PACE_S,
    ) -> None:
        """Start the call."""
        self._call = call
        self._comment_s = comment_s
        self._pace_s = pace_s
        self._parts: list[str] = []
        self._length = 0
        self._shown = 0
        self._news = Event()
        self._ended = Event()
        self._outcome: Outcome[bytes] = Outcome()
        tasks.start(lambda: call.run(self._grown), name="watched call", on_end=self._end)

    def __iter__(self) -> Iterator[bytes]:
        """Each event as it comes.  Blocks on: the call."""
        yield _FIRST
        while not self._ended.is_set():
            if not self._news.wait(self._comment_s):
                yield _COMMENT
            elif not self._ended.wait(self._pace_s):
                self._news.clear()
                yield _event(self._call.progress(self._text()))
        yield _event(self._answer())

    def _text(self) -> str:
        text = "".join(self._parts)
        self._parts = [text]
        self._shown = len(text)
        return text

    def _answer(self) -> bytes:
        error, value = self._outcome.error, self._outcome.value
        if error is not None or value is None:
            return self._call.bug(error or RuntimeError())
        return value

    def _grown(self, text: str) -> None:
        """Called by the turn's task."""
        self._parts.append(text)
        self._length += len(text)
        if self._length - self._shown > self._shown // GROWTH:
            self._news.set()

    def _end(self, outcome: Outcome[bytes]) -> None:
        """Called in the hub."""
        self._outcome = outcome
        self._ended.set()
        self._news.set()


def _event(message: bytes) -> bytes:
    return b"event: message\ndata: " + message + b"\n\n"
