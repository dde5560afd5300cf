"""A client of the soak: goes round and round until it is told to leave, and then leaves nothing."""

import random
import traceback
from collections.abc import Callable

from gevent.event import Event

from benchmarks.soak.mcp import Mcp
from benchmarks.soak.stage import Stage
from benchmarks.soak.tally import Tally


class Player:
    """The base of all of them: `lap` is what each does."""

    pause_s = (0.5, 1.5)
    """Shortest and longest rest between two laps."""

    def __init__(self, stage: Stage, tally: Tally, seed: int) -> None:
        self.stage = stage
        self.server = stage.server
        self.tally = tally
        self.leaving = Event()
        self.chance = random.Random(seed)

    def run(self) -> None:
        """Laps until `leaving`; one that breaks is counted as wrong, and the next begins."""
        with Mcp(self.server) as self.mcp:
            while not self.rest(*self.pause_s):
                self.guarded(self.lap)

    def guarded(self, lap: Callable[[], None]) -> None:
        """A lap, whatever it raises."""
        try:
            lap()
        except Exception as error:  # noqa: BLE001 - counted, and shown
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.tally.fault(
                type(self).__name__,
                f"{type(error).__name__} {error} at {where.name}:{where.lineno}, of "
                + " < ".join(each.name for each in traceback.extract_tb(error.__traceback__)[:4]),
            )

    def lap(self) -> None:
        """One round; the conversations that it began are deleted in it."""
        raise NotImplementedError

    def rest(self, shortest_s: float, longest_s: float | None = None) -> bool:
        """Wait; True when it is time to leave."""
        return self.leaving.wait(self.chance.uniform(shortest_s, longest_s or shortest_s))
