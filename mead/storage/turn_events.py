"""How the events of a conversation are written, and what turns they make.  Pure.

    {"type":"append","turn":{...}}         a turn started; in a file written anew, any turn
    {"type":"replace_last","turn":{...}}   the newest turn was closed
    {"type":"interrupt","at":"..."}        turns still running became interrupted

`turn` is the object of `Turn.encode`.  Source: seed A8, The files.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import orjson

from mead.errors import CorruptHistory, PersistenceError
from mead.protocols import TurnAppended, TurnEvent, TurnReplaced, TurnsInterrupted
from mead.storage.records import MAX_EVENT_BYTES
from mead.turn import Turn, TurnStatus, iso_ms

DECODE_STEP: Final = 500
"""Turns decoded between two yields, some milliseconds."""


def encode_event(event: TurnEvent) -> bytes:
    """The event as JSON.  Raises PersistenceError when the turn is too long or holds no text."""
    match event:
        case TurnAppended(turn):
            shape = {"type": "append", "turn": turn.encode()}
        case TurnReplaced(turn):
            shape = {"type": "replace_last", "turn": turn.encode()}
        case TurnsInterrupted(at):
            shape = {"type": "interrupt", "at": iso_ms(at)}
    try:
        data = orjson.dumps(shape)
    except orjson.JSONEncodeError:
        raise PersistenceError("the turn holds characters that cannot be stored") from None
    if len(data) > MAX_EVENT_BYTES:
        raise PersistenceError(f"the turn is longer than a record holds ({MAX_EVENT_BYTES} bytes)")
    return data


def apply_event(turns: list[Turn], event: TurnEvent, *, durable: bool) -> None:
    """Change `turns` as the event says; `durable` goes onto the turns that it closes."""
    match event:
        case TurnAppended(turn):
            turns.append(turn)
        case TurnReplaced(turn):
            turns[-1] = turn if turn.durable is durable else replace(turn, durable=durable)
        case TurnsInterrupted(at):
            turns[:] = [interrupted(turn, at, durable=durable) for turn in turns]


def interrupted(turn: Turn, at: datetime, *, durable: bool) -> Turn:
    """The turn, interrupted at that time if it was still running."""
    if turn.status is not TurnStatus.RUNNING:
        return turn
    return replace(turn.interrupted(), finished_at=at, durable=durable)


class TurnFold:
    """Makes turns of the events of a log, as they are read.

    The objects are kept as they are and decoded at the end, because most turns come twice.
    """

    def __init__(self) -> None:
        self._shapes: list[dict[str, Any]] = []
        self._ids: set[str] = set()
        self._interrupted: dict[int, str] = {}
        """When the turn at that place was interrupted."""
        self._running: set[int] = set()

    def take(self, event: Any) -> None:
        """The next event.  Raises CorruptHistory when it cannot follow the ones before."""
        try:
            kind = event["type"]
            if kind == "append":
                self._append(event["turn"])
            elif kind == "replace_last":
                self._replace_last(event["turn"])
            elif kind == "interrupt":
                self._interrupt(event["at"])
            else:
                raise CorruptHistory("the stored conversation holds an event of an unknown type")
        except (KeyError, TypeError, ValueError):
            raise _misshapen() from None

    def turns(self, pause: Callable[[], None]) -> list[Turn]:
        """The turns.  Raises CorruptHistory.  Calls `pause` after every DECODE_STEP turns."""
        turns: list[Turn] = []
        for turn in self.decoded():
            turns.append(turn)
            if len(turns) % DECODE_STEP == 0:
                pause()
        return turns

    def decoded(self) -> Iterator[Turn]:
        """The turns, one by one.  Raises CorruptHistory at the first that is not one."""
        for place, shape in enumerate(self._shapes):
            yield self._decoded(place, shape)

    def _append(self, shape: dict[str, Any]) -> None:
        turn_id = shape["id"]
        if turn_id in self._ids:
            raise CorruptHistory("the stored conversation holds a turn twice")
        self._ids.add(turn_id)
        self._note_status(len(self._shapes), shape)
        self._shapes.append(shape)

    def _replace_last(self, shape: dict[str, Any]) -> None:
        if not self._shapes or self._shapes[-1]["id"] != shape["id"]:
            raise CorruptHistory("the stored conversation closes a turn that is not its newest")
        self._shapes[-1] = shape
        self._note_status(len(self._shapes) - 1, shape)

    def _note_status(self, place: int, shape: dict[str, Any]) -> None:
        self._interrupted.pop(place, None)
        if shape["status"] == TurnStatus.RUNNING.value:
            self._running.add(place)
        else:
            self._running.discard(place)

    def _interrupt(self, at: str) -> None:
        datetime.fromisoformat(at)
        for place in self._running:
            self._interrupted[place] = at
        self._running.clear()

    def _decoded(self, place: int, shape: dict[str, Any]) -> Turn:
        try:
            turn = Turn.decode(shape)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _misshapen() from None
        at = self._interrupted.get(place)
        if at is not None:
            return interrupted(turn, datetime.fromisoformat(at), durable=True)
        closed = turn.status is not TurnStatus.RUNNING
        # What was read back is in the store, whatever was known when it was written.
        return turn if turn.durable is closed else replace(turn, durable=closed)


def _misshapen() -> CorruptHistory:
    return CorruptHistory("the stored conversation holds something that is not a turn")
