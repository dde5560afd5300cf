"""The person at the other end of a control connection."""

from collections.abc import Callable
from typing import Any, Final

from mead.actors.green import AsyncResult, RLock
from mead.protocols import CallStatus, ToolUse
from mead.turn import TurnFacts

ANSWER_TIMEOUT_S: Final = 120.0
"""How long a person at a terminal is waited for; as deck.permission_timeout_ms."""


class RemoteInteraction:
    """An Interaction whose events are lines and whose questions wait for lines.

    `send` writes one message to the client.  A client that has gone away is not an error: the turn
    goes on, nothing more is shown, and every question is answered no.
    """

    def __init__(self, send: Callable[[object], None]) -> None:
        self._send = send
        self._lock = RLock()
        self._gone = False
        self._next_key = 0
        self._waiting: dict[int, AsyncResult[Any]] = {}

    def routed(self, facts: TurnFacts) -> None:
        """See Interaction."""
        self._event(event="routed", facts=facts)

    def text_delta(self, text: str) -> None:
        """See Interaction."""
        self._event(event="text_delta", text=text)

    def authorize(self, use: ToolUse, cancel: Callable[[], None]) -> bool:
        """See Interaction."""
        del cancel  # a terminal cancels its turn, not one call of it
        return self._ask(event="authorize", use=use) is True

    def call_finished(self, call_id: str, status: CallStatus, summary: str) -> None:
        """See Interaction."""
        self._event(event="call_finished", call_id=call_id, status=status, summary=summary)

    def choose(self, prompt: str, options: tuple[str, ...]) -> str | None:
        """See Interaction."""
        answer = self._ask(event="choose", prompt=prompt, options=options)
        return answer if answer in options else None

    def answered(self, key: object, answer: object) -> None:
        """The client said something; an answer nobody waits for is dropped."""
        waiting = self._waiting.pop(key, None) if isinstance(key, int) else None
        if waiting is not None:
            waiting.set(answer)

    def abandon(self) -> None:
        """The client has gone away."""
        self._gone = True
        for waiting in self._waiting.values():
            waiting.set(None)
        self._waiting.clear()

    def _ask(self, **event: Any) -> Any:
        if self._gone:
            return None
        self._next_key += 1
        key = self._next_key
        waiting: AsyncResult[Any] = AsyncResult()
        self._waiting[key] = waiting
        self._event(**event, key=key)
        waiting.wait(ANSWER_TIMEOUT_S)
        self._waiting.pop(key, None)
        return waiting.value

    def _event(self, **event: Any) -> None:
        if self._gone:
            return
        try:
            with self._lock:
                self._send(event)
        except OSError:
            self.abandon()
