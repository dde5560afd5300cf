"""A disk that can be made to hang, and greenlets that are killed while they wait for it."""

from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event

from mead.storage.disk import RealDisk
from tests.storage.gate import Gate


class HeldDisk(RealDisk):
    """A real disk whose jobs wait at a gate, in their thread, until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.held = Event()
        self._gates: list[Gate] = []
        self.holding = False

    def start(self, job: Callable[[], Any]) -> Any:
        if not self.holding:
            return super().start(job)
        gate = Gate()
        self._gates.append(gate)
        self.held.set()

        def waits() -> Any:
            gate.wait()
            return job()

        return super().start(waits)

    def let_go(self) -> None:
        self.holding = False
        for gate in self._gates:
            gate.set()


def kill_while(disk: HeldDisk, work: Callable[[], object]) -> None:
    disk.holding = True
    greenlet = gevent.spawn(work)
    assert disk.held.wait(5)
    greenlet.kill(timeout=5)
    assert greenlet.dead
    disk.let_go()
