"""Answers over HTTP: how far a stream of events was read, and whose answer a message is.  Pure."""

from typing import Final

from mead.mcp.client.events import Event
from mead.mcp.client.faults import ServerFault
from mead.mcp.jsonrpc import Failure, Id, Malformed, Message, Response, decode_each

RETRY_MS: Final = 1000
"""Before a stream is taken up again, when the server has not said."""
LONGEST_RETRY_MS: Final = 30_000
RESUMES: Final = 2
"""Attempts in a row that bring nothing; as the official clients."""
SHORTEST_RETRY_MS: Final = 100
"""A server that wants its streams taken up at once is given this much peace."""
STEADY_S: Final = 5.0
"""A standing stream that lived for less is opened again later each time."""
_MOST_DOUBLINGS: Final = 5


class Stream:
    """How far a stream of events was read."""

    def __init__(self, awaited: Id | None, limit: int | None, session: str | None = None) -> None:
        self.awaited = awaited
        """The request whose answer ends it; None for one without end."""
        self.limit = limit
        self.session = session
        """The session that begins when the awaited answer is no error."""
        self.last_id: str | None = None
        self.retry_ms: float = RETRY_MS
        self._in_vain = 0
        self._brief = 0

    def note(self, event: Event) -> None:
        """An event came."""
        self._in_vain = 0
        if event.id is not None:
            self.last_id = event.id
        if event.retry_ms is not None:
            self.retry_ms = min(max(event.retry_ms, SHORTEST_RETRY_MS), LONGEST_RETRY_MS)

    def opened(self) -> None:
        """It stands; that is worth another try after it breaks."""
        self._in_vain = 0

    def pause_ms(self, lived_s: float) -> float:
        """How long to wait before a standing stream that lived so long is opened again."""
        self._brief = 0 if lived_s >= STEADY_S else min(self._brief + 1, _MOST_DOUBLINGS + 1)
        least = max(self.retry_ms, RETRY_MS)
        return min(least * 2 ** max(self._brief - 1, 0), LONGEST_RETRY_MS)

    def may_resume(self) -> bool:
        """Count an attempt; False when too many in a row brought nothing."""
        self._in_vain += 1
        return self.last_id is not None and self._in_vain <= RESUMES


def messages_in(body: bytes, limit: int) -> list[Message]:
    """The messages of a JSON body, which may be a batch of `limit`.  Raises ServerFault."""
    try:
        return decode_each(body, limit)
    except Malformed:
        raise ServerFault("bad_response", "the answer is not JSON-RPC") from None


def addressed(message: Message, request_id: Id) -> Message:
    """An error that was sent without an id (the request could not be read) is this request's."""
    if isinstance(message, Failure):
        return Failure(request_id, message.error)
    return message


def answers(message: Message, request_id: Id | None) -> bool:
    """Whether the message is the answer to that request."""
    return isinstance(message, Response | Failure) and message.id == request_id
