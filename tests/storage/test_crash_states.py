"""Power cuts, enumerated on a simulated disk: nothing acknowledged under `turn` is ever lost."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from mead.config.settings import StorageSettings
from mead.errors import CorruptHistory, PersistenceError, SessionNotFound
from mead.ids import new_session_id
from mead.protocols import TurnAppended, TurnEvent, TurnLog, TurnReplaced, TurnsInterrupted
from mead.storage.log import RecordLog
from mead.storage.session_store import FileStore
from mead.storage.turn_log import FileTurnLog
from mead.turn import Turn
from tests.storage.conversation import AT, completed, running, turn_log_on, turns_of
from tests.storage.simulated import SimulatedDisk

pytestmark = pytest.mark.timeout(60)

DIRECTORY = Path("/simulated")
STATES_OF_A_FILE = 2000
"""Of one file at one step: all of them where a record spans up to ten sectors, else by chance."""

Load = Callable[[dict[str, bytes]], list[Turn]]


def settings(fsync: str = "turn") -> StorageSettings:
    return StorageSettings(directory=DIRECTORY, fsync=fsync, compact_after_bytes=1)


class LostTurn(AssertionError):
    """A crash state shows something else than was promised."""


class Watch:
    """Follows a workload and checks, after every change of the disk, every state a crash leaves."""

    def __init__(
        self,
        disk: SimulatedDisk,
        session_id: str,
        load: Load | None = None,
        *,
        promises_nothing: bool = False,
    ) -> None:
        """With `promises_nothing` any beginning of the conversation will do, but no other state."""
        self._promises_nothing = promises_nothing
        self.states = 0
        self.reached: list[dict[str, bytes]] = []
        self._disk = disk
        self.session_id = session_id
        self._name = f"{session_id}.log"
        self._load = load or self._load_with_store
        self._created = False
        self._certain: list[TurnEvent] = []
        self._maybe: list[TurnEvent] = []
        self._seen: set[tuple[object, ...]] = set()
        self._chance = random.Random(7)
        disk.on_step = self.check

    def create(self, store: FileStore) -> FileTurnLog:
        log = store.create(self.session_id)
        self._created = True
        return log

    def assume(self, events: list[TurnEvent]) -> None:
        """These events were acknowledged before."""
        self._created = True
        self._certain = list(events)

    def write(self, log: TurnLog, event: TurnEvent) -> bool:
        self._maybe.append(event)
        try:
            durable = log.write(event)
        except PersistenceError:
            self.check()
            return False
        if durable:
            # Closings that were refused are kept and written with the next event; openings are not.
            kept = [e for e in self._maybe[:-1] if not isinstance(e, TurnAppended)]
            self._certain += [*kept, event]
            self._maybe = []
        self.check()
        return durable

    def check(self) -> None:
        allowed = [list(self._show(turns)) for turns in self._allowed()]
        marker = (len(self._certain), len(self._maybe), self._created)
        for files in self._disk.crash_states(self._name, STATES_OF_A_FILE, self._chance):
            key = (*marker, files.get(self._name))
            if key in self._seen:
                continue
            self._seen.add(key)
            self.states += 1
            self.reached.append(files)
            try:
                found = list(self._show(self._load(files)))
            except SessionNotFound:
                if self._created:
                    raise LostTurn("the session is gone") from None
            except CorruptHistory as error:
                raise LostTurn(f"unreadable: {error}") from None
            else:
                if found not in allowed:
                    raise LostTurn(f"{len(found)} turns, allowed were {[len(a) for a in allowed]}")

    def _allowed(self) -> Iterator[list[Turn]]:
        if self._promises_nothing:
            events = [*self._certain, *self._maybe]
            yield from (turns_of(events[:count]) for count in range(len(events) + 1))
            return
        for count in range(len(self._maybe) + 1):
            for some in itertools.combinations(self._maybe, count):
                with suppress(IndexError):
                    yield turns_of([*self._certain, *some])

    def _show(self, turns: list[Turn]) -> Iterator[tuple[object, ...]]:
        for turn in turns:
            yield turn.id, turn.status, turn.input, turn.output

    def _load_with_store(self, files: dict[str, bytes]) -> list[Turn]:
        return FileStore(settings(), disk=SimulatedDisk(files)).load(self.session_id)


SIZES = (30, 700, 1800, 200)


def conversation(watch: Watch, log: TurnLog, sizes: Sequence[int] = SIZES) -> None:
    """Turns of several sizes, an interruption, compactions in between."""
    for size in sizes:
        turn = running("p" * size)
        if watch.write(log, TurnAppended(turn)):
            watch.write(log, TurnReplaced(completed(turn, "a" * size)))
    with suppress(PersistenceError):
        log.compact(log.replay())
    watch.check()
    watch.write(log, TurnAppended(running("interrupted")))
    watch.write(log, TurnsInterrupted(AT))
    with suppress(PersistenceError):
        log.compact(log.replay())
    watch.check()
    turn = running("the last")
    if watch.write(log, TurnAppended(turn)):
        watch.write(log, TurnReplaced(completed(turn)))


def a_whole_life(
    disk: SimulatedDisk,
    load: Load | None = None,
    fsync: str = "turn",
    sizes: Sequence[int] = SIZES,
) -> Watch:
    session_id = new_session_id()
    watch = Watch(disk, session_id, load, promises_nothing=fsync == "never")
    store = FileStore(settings(fsync), disk=disk)
    log = store.create(session_id) if fsync == "never" else watch.create(store)
    conversation(watch, log, sizes)
    log.close()
    return watch


@pytest.mark.spec("storage.nothing-acknowledged-is-lost")
def test_no_power_cut_loses_an_acknowledged_turn(record_property) -> None:
    watch = a_whole_life(SimulatedDisk(), sizes=(30, 700, 2000, 3000, 4500, 200))
    record_property("states", watch.states)
    assert watch.states > 1000


def test_without_syncs_a_power_cut_leaves_a_beginning_of_the_conversation(record_property) -> None:
    """Unsynced records reach the disk in any order; no state of them is unreadable."""
    watch = a_whole_life(SimulatedDisk(), fsync="never")
    record_property("states", watch.states)
    assert watch.states > 1000


def test_a_power_cut_during_recovery_loses_nothing_either() -> None:
    """The states that a first crash leaves are opened and written to, with crashes in between."""
    watch = a_whole_life(SimulatedDisk())
    name = f"{watch.session_id}.log"
    checked = 0
    for files in [each for each in watch.reached if name in each][::5]:
        found = FileStore(settings(), disk=SimulatedDisk(files)).load(watch.session_id)
        disk = SimulatedDisk(files)
        second = Watch(disk, watch.session_id)
        second.assume([TurnAppended(turn) for turn in found])
        log = FileStore(settings(), disk=disk).open(watch.session_id)
        second.check()
        log.compact(log.replay())
        more = running("after the crash")
        assert second.write(log, TurnAppended(more))
        assert second.write(log, TurnReplaced(completed(more)))
        checked += second.states
    assert checked > 1000


@pytest.mark.parametrize("fault", ["short", "full", "broken"])
def test_no_single_failure_of_the_disk_loses_an_acknowledged_turn(fault) -> None:
    """Every change of the disk fails once, alone, and the power is cut after every other one."""
    healthy = SimulatedDisk()
    a_whole_life(healthy)
    assert healthy.steps > 30
    for step in range(1, healthy.steps + 1):
        disk = SimulatedDisk()
        disk.faults = {step: fault}
        with suppress(PersistenceError):
            a_whole_life(disk)


def test_a_disk_that_stops_working_loses_nothing_acknowledged() -> None:
    for step in range(3, 30):
        disk = SimulatedDisk()
        disk.broken_from = step
        with suppress(PersistenceError):
            a_whole_life(disk)


# -- the same checks, on storage that is wrong -----------------------------------------------------


@pytest.mark.parametrize(
    "forgotten",
    [
        ("sync", ".log"),
        ("sync", ".tmp"),
        ("sync_directory", ".log"),
    ],
)
def test_the_check_sees_a_missing_sync(forgotten) -> None:
    disk = SimulatedDisk()
    disk.forgotten = {forgotten}
    with pytest.raises(LostTurn):
        a_whole_life(disk)


class Unpoisoned(RecordLog):
    """A log that goes on with the same descriptor after a failed sync."""

    __slots__ = ()

    @property
    def poisoned(self) -> bool:
        return False

    @poisoned.setter
    def poisoned(self, value: bool) -> None:
        pass


@pytest.mark.parametrize(("kind", "caught"), [(RecordLog, False), (Unpoisoned, True)])
def test_the_check_sees_a_log_that_trusts_a_descriptor_after_a_failed_sync(kind, caught) -> None:
    def life(step: int) -> None:
        disk = SimulatedDisk()
        session_id = new_session_id()
        watch = Watch(disk, session_id)
        records = kind.create(disk, DIRECTORY / f"{session_id}.log", sync=True)
        watch.assume([])
        disk.faults = {step: "broken"}
        log = turn_log_on(records, session_id)
        conversation(watch, log)

    if not caught:
        for step in range(3, 20):
            life(step)
        return
    with pytest.raises(LostTurn):  # noqa: PT012 - any of the steps will do
        for step in range(3, 20):
            life(step)
