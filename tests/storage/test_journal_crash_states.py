"""Power cuts while the ledger's journal grows and is rewritten as a checkpoint."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from mead.errors import PersistenceError
from mead.ledger.journal import Journal
from mead.ledger.totals import Totals
from mead.storage.journal_file import JOURNAL_NAME, open_journal, renew_journal
from tests.storage.simulated import SimulatedDisk

DIRECTORY = Path("/simulated")
STATES_OF_A_FILE = 300

pytestmark = pytest.mark.timeout(60)


def turn(number: int) -> dict[str, Any]:
    """A counted turn; every number makes other sums."""
    return {
        "type": "turn",
        "at": f"2026-11-{1 + number % 28:02d}T14:00:00.000Z",
        "route": "local",
        "provider": "scripted",
        "model": f"m{number % 3}",
        "status": "ok",
        "session_id": f"session {number % 4}",
        "duration_ms": 1.0,
        "input_tokens": 1 << number % 40,
        "output_tokens": number,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "tool_calls": 1,
    }


def shown(totals: Totals) -> object:
    return list(totals.checkpoint())


def opened(disk: SimulatedDisk) -> tuple[Journal, Totals]:
    totals = Totals()
    records = open_journal(disk, DIRECTORY, totals.apply, totals.clear)
    journal = Journal(
        records,
        sync=True,
        maximum_bytes=6000,
        renew=lambda: renew_journal(disk, DIRECTORY),
        appended=lambda _: None,
    )
    return journal, totals


class MiscountedTurn(AssertionError):
    """A crash state counts an acknowledged turn not once."""


class Watch:
    """Appends batches, and after every change of the disk reads every state that a crash leaves."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.states = 0
        self._disk = disk
        self._journal, self._certain = opened(disk)
        self._batch: list[dict[str, Any]] = []
        self._seen: set[tuple[object, ...]] = set()
        self._batches = 0
        self._chance = random.Random(5)
        disk.on_step = self._check

    def append(self, batch: list[dict[str, Any]]) -> bool:
        self._batches += 1
        self._batch = batch
        try:
            self._journal.append([orjson.dumps(event) for event in batch])
        except PersistenceError:
            return False
        self._certain, self._batch = counted(self._certain, batch), []
        self._check()
        return True

    def _check(self) -> None:
        beginnings = [self._batch[:count] for count in range(len(self._batch) + 1)]
        allowed = [shown(counted(self._certain, some)) for some in beginnings]
        for files in self._disk.crash_states(JOURNAL_NAME, STATES_OF_A_FILE, self._chance):
            key = (self._batches, len(self._batch), files.get(JOURNAL_NAME))
            if key not in self._seen:
                self._seen.add(key)
                self.states += 1
                _, found = opened(SimulatedDisk(files))
                if shown(found) not in allowed:
                    raise MiscountedTurn


def counted(totals: Totals, batch: list[dict[str, Any]]) -> Totals:
    more = Totals()
    for event in [*totals.checkpoint(), *batch]:
        more.apply(event)
    return more


def a_journals_life(
    prepare: Callable[[SimulatedDisk], None] = lambda _: None, batches: int = 25, events: int = 8
) -> tuple[SimulatedDisk, Watch]:
    disk = SimulatedDisk()
    watch = Watch(disk)
    prepare(disk)
    for number in range(batches):
        batch = [turn(events * number + each) for each in range(events)]
        while not watch.append(batch):
            pass
    return disk, watch


@pytest.mark.spec("ledger.journal-crash")
def test_no_power_cut_loses_or_doubles_a_turn_that_was_journaled() -> None:
    disk, watch = a_journals_life()
    assert ("rename", JOURNAL_NAME) in disk.did
    assert watch.states > 1000


@pytest.mark.parametrize("fault", ["short", "full", "broken"])
def test_no_single_failure_of_the_disk_loses_or_doubles_a_turn(fault) -> None:
    steps = a_journals_life(batches=8, events=3)[0].steps
    for step in range(3, steps + 1):
        a_journals_life(
            lambda disk, step=step: disk.faults.update({step: fault}), batches=8, events=3
        )


@pytest.mark.parametrize("forgotten", [("sync", ".journal"), ("sync", ".tmp")])
def test_the_check_sees_a_missing_sync(forgotten) -> None:
    with pytest.raises(MiscountedTurn):
        a_journals_life(lambda disk: disk.forgotten.add(forgotten))
