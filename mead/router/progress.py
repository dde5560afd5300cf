"""What is known of a routed turn so far, and the event that tells it in the end."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from mead import signals
from mead.protocols import ModelReply
from mead.turn import TurnFacts, Usage

CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
"""The answer ends where room ran out; a tool call at its end may be half of one."""

CUT_CALL_WARNING: Final = "truncated_tool_call"

OTHER: Final = "other"
"""For a stop reason that is no short word: a provider's text of any length is no fact."""

_STOP_REASON: Final = re.compile(r"[A-Za-z0-9_ .-]{1,64}")

_UNKNOWN: Final = Usage()


class Progress:
    """Keeps the facts of one turn and reports each change, so that they outlive a failure."""

    def __init__(self, report: Callable[[TurnFacts], None], facts: TurnFacts) -> None:
        self._report = report
        self._started = time.perf_counter()
        self.facts = facts
        report(facts)

    def goes_to(self, host: str | None) -> None:
        """It is known now where the model calls go."""
        self.facts = replace(self.facts, host=host)
        self._report(self.facts)

    def count(self, reply: ModelReply, host: str | None) -> None:
        """Add what one model call came to; `host` is where it went."""
        warnings = (*self.facts.warnings, *reply.warnings)
        asked = len(reply.tool_requests)
        if asked and reply.stop_reason in CUT:
            asked = 0
            warnings = (*warnings, CUT_CALL_WARNING)
        self.facts = replace(
            self.facts,
            host=host,
            usage=_sum(self.facts.usage, reply.usage),
            tool_calls=self.facts.tool_calls + asked,
            stop_reason=_known(reply.stop_reason),
            warnings=tuple(dict.fromkeys(warnings)),
        )
        self._report(self.facts)

    def announce(
        self, sender: object, status: Literal["ok", "error"], session_id: str | None
    ) -> None:
        """Emit `signals.route`, once, when the turn has ended."""
        facts, usage = self.facts, self.facts.usage or _UNKNOWN
        signals.emit(
            signals.route,
            sender,
            duration_ms=(time.perf_counter() - self._started) * 1000,
            input_tokens=usage.input or 0,
            output_tokens=usage.output or 0,
            cache_read_tokens=usage.cache_read or 0,
            cache_write_tokens=usage.cache_write or 0,
            tool_calls=facts.tool_calls,
            route=facts.route,
            route_source=facts.route_source,
            provider=facts.provider,
            model=facts.model,
            status=status,
            session_id=session_id,
        )


def _sum(before: Usage | None, now: Usage | None) -> Usage | None:
    if before is None or now is None:
        return now if before is None else before
    return before + now


def _known(stop_reason: str) -> str:
    return stop_reason if _STOP_REASON.fullmatch(stop_reason) else OTHER
