"""Turns, events and what a log that holds them must show."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mead.ids import new_turn_id
from mead.protocols import TurnAppended, TurnEvent, TurnLog, TurnReplaced
from mead.storage.damage import Scanner, Verdict
from mead.storage.log import RecordLog
from mead.storage.turn_events import apply_event
from mead.storage.turn_log import FileTurnLog, WritePolicy
from mead.turn import Turn, TurnFault, TurnStatus, utc_now

AT = datetime(2026, 11, 30, 14, 0, 0, 123000, tzinfo=UTC)


def running(text: str = "a prompt") -> Turn:
    """A turn that has just started."""
    return Turn(id=new_turn_id(), input=text, started_at=utc_now())


def completed(turn: Turn, output: str = "an answer") -> Turn:
    """The same turn, answered."""
    return turn.closed(TurnStatus.COMPLETED, output=output)


def failed(turn: Turn) -> Turn:
    """The same turn, ended by a fault."""
    return turn.closed(TurnStatus.FAILED, error=TurnFault(code="provider_error", message="no"))


def events_of(count: int, size: int = 40) -> list[TurnEvent]:
    """The events of `count` answered turns, each about twice `size` characters."""
    events: list[TurnEvent] = []
    for number in range(count):
        turn = running(f"prompt {number} " + "p" * size)
        events += [
            TurnAppended(turn),
            TurnReplaced(completed(turn, f"answer {number} " + "é" * size)),
        ]
    return events


def turns_of(events: Iterable[TurnEvent]) -> list[Turn]:
    """What a store must show after these events."""
    turns: list[Turn] = []
    for event in events:
        apply_event(turns, event, durable=True)
    return turns


def read_all(
    data: bytes, step: int | None = None, kind: type[Scanner] = Scanner
) -> tuple[list[object], Verdict]:
    """The events of a log's bytes, fed `step` bytes at a time, and the verdict."""
    events: list[object] = []
    scanner = kind(events.append)
    step = step or max(1, len(data))
    for start in range(0, len(data), step):
        scanner.feed(data[start : start + step])
    return events, scanner.finish()


def is_prefix(part: Sequence[object], whole: Sequence[object]) -> bool:
    """Whether `whole` begins with `part`."""
    return list(part) == list(whole[: len(part)])


def plain(turns: Iterable[Turn]) -> list[tuple[object, ...]]:
    """What a reader sees of the turns, whether they are durable or not."""
    return [(t.id, t.input, t.output, t.status, t.finished_at, t.error) for t in turns]


def names(directory: Path) -> list[str]:
    """The files there."""
    return sorted(path.name for path in directory.iterdir())


def talk(log: TurnLog, count: int = 3) -> list[TurnEvent]:
    """Write `count` answered turns; their events."""
    events = events_of(count)
    for event in events:
        log.write(event)
    return events


def turn_log_on(records: RecordLog, session_id: str) -> FileTurnLog:
    """The log of a conversation, as the store makes it, over a record log of the test's own."""
    return FileTurnLog(
        session_id,
        records,
        [],
        policy=WritePolicy(fsync="turn", compact_after_bytes=1 << 20),
        on_unsynced=lambda _: None,
        on_close=lambda: None,
    )
