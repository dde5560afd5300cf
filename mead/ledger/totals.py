"""The sums of the ledger, as a pure fold over its events.

    {"type":"turn","at":"...","route":...,"provider":...,"model":...,"status":...,"session_id":...,
     "duration_ms":...,"input_tokens":...,"output_tokens":...,"cache_read_tokens":...,
     "cache_write_tokens":...,"tool_calls":...}          a routed turn ended
    {"type":"forget","session_id":"..."}                 a session was deleted
    {"type":"dropped"}                                   an event that could not be read
    {"type":"checkpoint", ...}                           everything so far, sessions apart
    {"type":"sessions","rows":{...}}                     more of a checkpoint

A day has two counters more, `local_turns` and `cloud_turns`; those of days in a checkpoint from
before there were any are missing, and add up to less than `turns` on the day between.

`apply` serves the live events and the replay of the journal alike.  Source: seed A5, SPEC 11.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

RECENT_LIMIT: Final = 100
"""Turns in the ring (seed A5)."""

DAYS_LIMIT: Final = 366
"""Days that are kept: a year and its leap day (SPEC section 11)."""

SESSIONS_PER_RECORD: Final = 1000
"""Rows in one record of a checkpoint, so that no record grows with the number of sessions."""

COUNTERS: Final = (
    "turns",
    "failed",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "tool_calls",
    "duration_ms",
)

DAY_COUNTERS: Final[Mapping[str, str]] = {"local": "local_turns", "cloud": "cloud_turns"}
"""What a day's row holds besides, by route: of words that stayed and words that went out."""

Row = dict[str, Any]
Key = TypeVar("Key")
RouteKey = tuple[str, str | None, str | None]


class Totals:
    """All sums.  Updated without yielding, so that any greenlet may read between two events."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.dropped = 0
        self.all: Row = _zero()
        self.routes: dict[RouteKey, Row] = {}
        self.days: dict[str, Row] = {}
        self.sessions: dict[str, Row] = {}
        self.recent: deque[Row] = deque(maxlen=RECENT_LIMIT)

    def apply(self, event: Mapping[str, Any]) -> None:
        """Count one event.  Raises KeyError, TypeError, ValueError for one of another shape."""
        match event["type"]:
            case "turn":
                self._turn(event)
            case "forget":
                self.sessions.pop(event["session_id"], None)
            case "dropped":
                self.dropped += 1
            case "checkpoint":
                self._restore(event)
            case "sessions":
                self.sessions.update({key: dict(row) for key, row in event["rows"].items()})
            case kind:
                raise ValueError(f"unknown ledger event {kind!r}")

    def checkpoint(self) -> Iterator[dict[str, Any]]:
        """The events that make these totals out of empty ones."""
        yield {
            "type": "checkpoint",
            "dropped": self.dropped,
            "all": self.all,
            "routes": [[*key, row] for key, row in self.routes.items()],
            "days": self.days,
            "recent": list(self.recent),
        }
        rows = iter(self.sessions.items())
        while batch := dict(islice(rows, SESSIONS_PER_RECORD)):
            yield {"type": "sessions", "rows": batch}

    def _turn(self, event: Mapping[str, Any]) -> None:
        key: RouteKey = (event["route"], event["provider"], event["model"])
        session_id = event["session_id"]
        _add(self.all, event)
        _add(_row(self.routes, key), event)
        self._add_to_day(event["at"][:10], event)
        if session_id is not None:
            _add(_row(self.sessions, session_id), event)
        while len(self.days) > DAYS_LIMIT:
            del self.days[min(self.days)]
        self.recent.append({name: value for name, value in event.items() if name != "type"})

    def _add_to_day(self, day: str, event: Mapping[str, Any]) -> None:
        row = _row(self.days, day)
        _add(row, event)
        counter = DAY_COUNTERS[event["route"]]
        row[counter] = row.get(counter, 0) + 1

    def _restore(self, event: Mapping[str, Any]) -> None:
        self.dropped = event["dropped"]
        self.all = dict(event["all"])
        self.routes = {(key[0], key[1], key[2]): dict(row) for *key, row in event["routes"]}
        self.days = {day: dict(row) for day, row in event["days"].items()}
        self.sessions = {}
        self.recent = deque(event["recent"], maxlen=RECENT_LIMIT)


def _row(rows: dict[Key, Row], key: Key) -> Row:
    row = rows.get(key)
    if row is None:
        row = rows[key] = _zero()
    return row


def _zero() -> Row:
    return dict.fromkeys(COUNTERS, 0)


def _add(row: Row, event: Mapping[str, Any]) -> None:
    row["turns"] += 1
    row["failed"] += event["status"] != "ok"
    for name in COUNTERS[2:]:
        row[name] += event[name]
