"""One tool call on its way: permission, hub, result, and what the person is told of it.

Source: seed A6 (the tool loop), A9 (Permissions, Streaming and cancellation).
"""

import logging
from collections.abc import Callable
from typing import Final

from mead.actors.green import Killed, Timeout, pause
from mead.ids import new_uuid
from mead.protocols import (
    CallStatus,
    Interaction,
    Tool,
    ToolHub,
    ToolOutcome,
    ToolRequest,
    ToolUse,
    TurnContext,
)

log = logging.getLogger(__name__)

MAXIMUM_SUMMARY_CHARACTERS: Final = 2000

DENIED: Final = ToolOutcome(text="The person did not allow this call.", is_error=True)
CANCELLED: Final = ToolOutcome(text="The person cancelled this call.", is_error=True)
FAILED: Final = ToolOutcome(text="The call failed.", is_error=True)


class ToolCall:
    """A call of a tool that the model was shown.  `run` is called once, in a task of its own."""

    def __init__(
        self, request: ToolRequest, tool: Tool, hub: ToolHub, context: TurnContext
    ) -> None:
        self._request = request
        self._tool = tool
        self._hub = hub
        self._context = context
        self._call_id = new_uuid()
        self._shown = False
        """Whether the person was told that it begins, and so must be told that it ended."""
        self._over = False
        self._cancelled = False
        self.kill: Callable[[], None] = lambda: None
        """Ends the task that runs it; set by whoever starts that."""

    def run(self) -> ToolOutcome:
        """What the model is told.

        Raises Killed when the turn ended.  Blocks on: the person, with the turn's clock stopped;
        the tool server, bounded by its `call_timeout_ms`.
        """
        ended: tuple[CallStatus, ToolOutcome] = ("cancelled", CANCELLED)
        try:
            attempt = self._attempt()
            if self._cancelled:
                pause()  # the kill is on its way; it may not strike while the end is being told
            else:
                ended = attempt
        except Killed:
            if not self._cancelled:
                raise
        return self._end(*ended)

    def cancel(self) -> None:
        """Stop it, from any greenlet; the model is told so.  Without effect once it has ended."""
        if self._over or self._cancelled:
            return
        self._cancelled = True
        self.kill()

    def fail(self) -> ToolOutcome:
        """The end of a call whose task ended in no way that `run` knows."""
        return self._end("failed", FAILED)

    def _attempt(self) -> tuple[CallStatus, ToolOutcome]:
        """Ask, then call.  A call cancelled by whoever was asked never reaches the hub."""
        try:
            if not self._is_authorized():
                return "denied", DENIED
            if self._cancelled:
                return "cancelled", CANCELLED
            outcome = self._hub.call_tool(
                self._tool.name, self._request.arguments, self._context.tools
            )
        except (Exception, Timeout) as error:  # noqa: BLE001 - a bug there must not fail the turn
            log.warning("a tool call failed: %s", type(error).__name__)
            return "failed", FAILED
        return ("error" if outcome.is_error else "ok"), outcome

    def _is_authorized(self) -> bool:
        interaction = self._context.interaction
        if interaction is None:
            return True
        use = ToolUse(
            call_id=self._call_id,
            server=self._tool.server,
            tool=self._tool.tool,
            name=self._tool.name,
            kind=self._tool.kind,
            arguments=self._request.arguments,
        )
        self._shown = True
        with self._context.clock.paused():
            return interaction.authorize(use, self.cancel)

    def _end(self, status: CallStatus, outcome: ToolOutcome) -> ToolOutcome:
        if self._over:
            return outcome
        self._over = True
        if self._shown and self._context.interaction is not None:
            self._tell(self._context.interaction, status, outcome)
        return outcome

    def _tell(self, interaction: Interaction, status: CallStatus, outcome: ToolOutcome) -> None:
        summary = outcome.text[:MAXIMUM_SUMMARY_CHARACTERS]
        try:
            interaction.call_finished(self._call_id, status, summary)
        except Exception as error:  # noqa: BLE001 - whoever shows the call; the result stands
            log.warning("the end of a tool call was not shown: %s", type(error).__name__)
