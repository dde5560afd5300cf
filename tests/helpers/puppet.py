"""A turn handler that does what its prompt says, and lets a test hold and release its turns."""

import contextlib
from collections.abc import Sequence
from typing import Any

import gevent
from gevent.event import Event

from mead.errors import TurnFailed
from mead.protocols import TurnContext
from mead.turn import Turn, TurnFacts


class Puppet:
    """The first word of a prompt says what to do (see `_do`); any other prompt is echoed."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.histories: list[Sequence[Turn]] = []
        self.release = Event()
        self.ended: list[str] = []

    def handle_turn(self, history: Sequence[Turn], text: str, context: TurnContext) -> Any:
        self.started.append(text)
        self.histories.append(history)
        try:
            return self._do(text, context)
        finally:
            self.ended.append(text)

    def _do(self, text: str, context: TurnContext) -> Any:
        match text.split()[0]:
            case "hold":
                self.release.wait(60)
            case "pause":
                with context.clock.paused(), context.clock.paused():
                    self.release.wait(60)
            case "raise":
                raise ValueError("a text that nobody may see")
            case "exit":
                raise SystemExit(3)
            case "killed":
                raise gevent.GreenletExit
            case "limit":
                raise gevent.Timeout(1)
            case "fail":
                context.report(TurnFacts(route="local", provider="puppet"))
                raise TurnFailed("provider_error", "the model said no")
            case "garbage":
                return {"not": "text"}
            case "stubborn":
                self._refuse_to_die()
            case _:
                pass
        return text

    def _refuse_to_die(self) -> None:
        while not self.release.is_set():
            with contextlib.suppress(BaseException):
                self.release.wait(60)
