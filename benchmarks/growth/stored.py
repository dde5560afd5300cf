"""Stored bytes: a log of that size is opened and read to its end."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import psutil

from benchmarks.growth.fit import CONSTANT, LINEAR, Curve
from benchmarks.growth.measure import KIB, MIB, cpu_us, peak_above
from mead.storage.disk import RealDisk
from mead.storage.files import examine
from mead.storage.log import RecordLog

SIZES = (1, 10, 100, 1000)
"""MiB."""
BATCH = 50
TEXT = "some words of an answer " * 160


def curves(sizes: Sequence[int]) -> Iterator[Curve]:
    """An append, reading it all, and what memory that takes."""
    append = Curve("an append to a log of that many MiB", "us", CONSTANT)
    read = Curve("opening and replaying that many MiB", "us", LINEAR)
    peak = Curve("the peak of memory while that many MiB are replayed", "KiB", CONSTANT)
    disk = RealDisk()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log"
        event = orjson.dumps({"type": "append", "turn": {"input": "a prompt", "output": TEXT}})
        log = RecordLog.create(disk, path, sync=False)
        for size in sizes:
            best = float("inf")
            while log.size < size * MIB:
                best = min(best, cpu_us(lambda: log.append(event, sync=False), BATCH, rounds=1))
                log.append(event, sync=True)  # as with every turn, or nothing of it is known safe
            append.add(size, best)
            began = time.process_time()
            rise = peak_above(psutil.Process(), lambda: _replay(disk, path))
            read.add(size, (time.process_time() - began) * 1e6)
            peak.add(size, rise / KIB)
        log.close()
    disk.close()
    yield from (append, read, peak)


def _replay(disk: RealDisk, path: Path) -> None:
    file = disk.open(path, "read")
    examine(disk, file, lambda _: None)
    file.close()
