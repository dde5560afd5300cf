"""Makes a damaged log usable: its valid beginning becomes the log, the old file is kept."""

from pathlib import Path
from typing import Any

from mead.errors import CorruptHistory
from mead.protocols import RepairReport
from mead.storage.disk import Disk
from mead.storage.files import examine, keep, open_log
from mead.storage.log import RecordLog
from mead.storage.turn_events import TurnFold
from mead.storage.turn_log import appends
from mead.turn import Turn


class _Prefix:
    """Takes events until one cannot follow the ones before; the frames may hold all the same."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self._fold = TurnFold()

    def take(self, event: Any) -> None:
        if self.fault is None:
            try:
                self._fold.take(event)
            except CorruptHistory as error:
                self.fault = error.message

    def turns(self) -> list[Turn]:
        turns: list[Turn] = []
        try:
            turns.extend(self._fold.decoded())
        except CorruptHistory as error:
            self.fault = error.message
        return turns


def repair_log(disk: Disk, path: Path) -> RepairReport:
    """Keep the log as `<name>.damaged-<time>` and write its valid beginning anew.

    Nothing is done to a log that is whole.  Raises FileNotFoundError, PersistenceError; the log is
    then as it was.  Blocks on: disk.
    """
    file = open_log(disk, path)
    prefix = _Prefix()
    verdict = examine(disk, file, prefix.take)
    turns = prefix.turns()
    damage = prefix.fault or verdict.fault
    after = verdict.size
    if damage is not None:
        keep(disk, file, path, "damaged", 0, verdict.size)
        records = RecordLog(disk, path, file)
        _, after = records.rewrite(appends(turns))
        records.close()
    return RepairReport(
        damage=damage, turns=len(turns), bytes_before=verdict.size, bytes_after=after
    )
