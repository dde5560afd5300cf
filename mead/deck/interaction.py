"""The person behind a deck's turn, as the router asks them: through the channel.  Source: seed A9.

Text is collected here and the channel told once that there is some, so that a model which answers
quickly fills no mailbox.  A channel that has ended shows nothing more and allows nothing.

What no event can hold, text that is not Unicode, raises here: in the turn's task, so that it fails
that turn alone.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mead.actors.actor import ActorRef
from mead.actors.exits import ActorDied, MailboxFull
from mead.deck.excerpt import arguments_shown, text_shown
from mead.deck.messages import AskerGone, Authorize, CallFinished, Choose, Grew, Routed
from mead.errors import MAXIMUM_OUTPUT_BYTES, answer_too_long
from mead.protocols import CallStatus, ToolUse
from mead.turn import TurnFacts

log = logging.getLogger(__name__)


class DeckInteraction:
    """See Interaction.  One for each turn."""

    def __init__(self, channel: ActorRef, turn_id: str) -> None:
        self._channel = channel
        self._turn_id = turn_id
        self._text: list[str] = []
        self._is_told = False
        self._size = 0
        """The bytes of all text so far."""

    def take_text(self) -> str:
        """What came since it was last asked; for the channel."""
        text = "".join(self._text)
        self._text.clear()
        self._is_told = False
        return text

    def routed(self, facts: TurnFacts) -> None:
        self._tell(Routed(self._turn_id, facts))

    def text_delta(self, text: str) -> None:
        _check(text)
        self._size += len(text.encode())
        if self._size > MAXIMUM_OUTPUT_BYTES:
            raise answer_too_long()
        self._text.append(text)
        if not self._is_told:
            self._is_told = self._tell(Grew(self._turn_id))

    def authorize(self, use: ToolUse, cancel: Callable[[], None]) -> bool:
        _check(use.call_id, use.server, use.tool, use.name)
        shown = replace(use, arguments=arguments_shown(use.arguments))
        return self._ask(Authorize(self._turn_id, shown, cancel)) is True

    def call_finished(self, call_id: str, status: CallStatus, summary: str) -> None:
        self._tell(CallFinished(self._turn_id, call_id, status, text_shown(summary)))

    def choose(self, prompt: str, options: tuple[str, ...]) -> str | None:
        _check(prompt, *options)
        answer = self._ask(Choose(self._turn_id, prompt, options))
        return answer if answer in options else None

    def _ask(self, question: Authorize | Choose) -> Any:
        """Blocks on: the channel and a person, in the end the permission's timeout."""
        try:
            return self._channel.call(question, None)
        except (ActorDied, MailboxFull):
            return None
        except BaseException:  # the turn was ended, or this call of it
            self._tell(AskerGone(question))
            raise

    def _tell(self, message: object) -> bool:
        try:
            self._channel.cast(message)
        except MailboxFull:
            log.warning("a channel does not keep up with its turn")
            return False
        return True


def _check(*texts: str) -> None:
    """Raises UnicodeEncodeError or AttributeError for what is no text or not Unicode."""
    for text in texts:
        text.encode()
