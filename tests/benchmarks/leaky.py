"""Turn handlers that keep something of every turn, each in its own way."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event

from mead.protocols import TurnContext

EACH = 1_000_000


class Leaky:
    """Echoes, and keeps bytes."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def handle_turn(self, history: Sequence[Any], text: str, context: TurnContext) -> str:
        del history, context
        self._kept.append(self._something())
        return text

    def _something(self) -> Any:
        return os.urandom(EACH)


class Greenlets(Leaky):
    """Keeps a greenlet that waits for nothing."""

    def _something(self) -> Any:
        return gevent.spawn(Event().wait)


class Handles(Leaky):
    """Keeps a file open."""

    def _something(self) -> Any:
        return Path(os.devnull).open("rb")
