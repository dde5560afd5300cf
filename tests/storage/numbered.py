"""A log of numbered events on a simulated disk, and what its file holds."""

from pathlib import Path
from typing import Any

import orjson

from mead.storage.log import RecordLog
from tests.storage.conversation import read_all
from tests.storage.simulated import SimulatedDisk

PATH = Path("/simulated/a.log")


def event(number: object) -> bytes:
    return orjson.dumps({"number": number})


def content(disk: SimulatedDisk, name: str = "a.log") -> bytes:
    return bytes(disk.names[name].seen)


def numbers(data: bytes) -> list[Any]:
    events, verdict = read_all(data)
    assert verdict.fault is None
    return [each["number"] for each in events]


def opened(disk: SimulatedDisk) -> tuple[RecordLog, list[Any]]:
    seen: list[Any] = []
    log = RecordLog.open(disk, PATH, lambda each: seen.append(each["number"]))
    return log, seen
