"""A state machine: the log against a list, on a disk that fails at any step."""

from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mead.errors import PersistenceError
from mead.storage.log import RecordLog
from tests.storage.numbered import PATH, content, event, numbers, opened
from tests.storage.simulated import SimulatedDisk


class LogMachine(RuleBasedStateMachine):
    """The log against a list: whatever fails, what the log says it has is what the file holds."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.log = RecordLog.create(self.disk, PATH, sync=True)
        self.events: list[Any] = []
        self.next = 0

    def _events(self, count: int, size: int) -> list[Any]:
        self.next += count
        return [f"{self.next + number}" + "x" * size for number in range(count)]

    @rule(faults=st.dictionaries(st.integers(1, 8), st.sampled_from(["short", "full", "broken"])))
    def the_disk_will_fail(self, faults) -> None:
        self.disk.faults = {self.disk.steps + ahead: fault for ahead, fault in faults.items()}

    @rule(count=st.integers(1, 3), size=st.sampled_from([0, 50, 600]), sync=st.booleans())
    def append(self, count, size, sync) -> None:
        events = self._events(count, size)
        poisoned = self.log.poisoned
        try:
            if count == 1:
                self.log.append(event(events[0]), sync=sync)
            else:
                self.log.append_many([event(each) for each in events], sync=sync)
        except PersistenceError:
            return
        assert not poisoned
        self.events += events
        if sync:
            assert self.log.synced == self.log.size

    @rule()
    def sync(self) -> None:
        try:
            self.log.sync()
        except PersistenceError:
            assert self.log.poisoned

    @rule(keep=st.integers(0, 5), smaller=st.booleans())
    def rewrite(self, keep, smaller) -> None:
        kept = self.events[-keep:] if keep else []
        poisoned = self.log.poisoned
        try:
            before, after = self.log.rewrite(map(event, kept), only_if_smaller=smaller)
        except PersistenceError:
            if self.log.poisoned and not poisoned:
                self.events = kept  # in place, but its name is not certain
            elif poisoned and self._on_file() == kept:
                self.events = kept
            return
        if after < before or not smaller or poisoned:
            self.events = kept
            assert not self.log.poisoned

    @precondition(lambda self: not self.log.poisoned)
    @rule(torn=st.binary(max_size=40))
    def reopen(self, torn) -> None:
        self.disk.faults = {}
        self.log.close()
        self.disk.names["a.log"].write(torn)
        self.log, seen = opened(self.disk)
        assert seen == self.events

    def _on_file(self) -> list[Any]:
        return numbers(content(self.disk)[: self.log.size])

    @invariant()
    def the_file_is_what_the_log_says(self) -> None:
        assert self._on_file() == self.events
        if not self.log.poisoned:
            assert self.log.size == len(content(self.disk))


class UndoesNothing(RecordLog):
    """A log without rollback, to see the machine notice it."""

    __slots__ = ()

    def _undo(self) -> None:
        pass


class BrokenMachine(LogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.log = UndoesNothing.create(self.disk, PATH, sync=True)


LogMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
TestLogMachine = LogMachine.TestCase


def test_the_machine_sees_a_missing_rollback() -> None:
    searching = settings(max_examples=300, database=None, derandomize=True, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(BrokenMachine, settings=searching)
