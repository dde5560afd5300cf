"""The damage rules of the specification, written down word by word and slowly.

An oracle for `mead.storage.damage`, which proves them equal to one comparison.
"""

from binascii import crc32
from dataclasses import dataclass

import orjson

from mead.storage.records import HEADER_BYTES, MAX_PAYLOAD_BYTES


@dataclass
class Whole:
    """A valid record."""

    offset: int
    end: int
    sequence: int
    synced: int
    event: object


def whole_record(data: bytes, at: int) -> Whole | None:
    """The valid record that starts at `at`."""
    if not header_holds(data, at):
        return None
    end = at + HEADER_BYTES + int.from_bytes(data[at : at + 4], "big")
    payload = data[at + HEADER_BYTES : end]
    if end > len(data) or crc32(payload) != int.from_bytes(data[at + 8 : at + 12], "big"):
        return None
    shape = orjson.loads(payload)
    return Whole(at, end, shape["n"], shape["s"], shape["e"])


def header_holds(data: bytes, at: int) -> bool:
    length = data[at : at + 4]
    return (
        len(data) - at >= HEADER_BYTES
        and crc32(length) == int.from_bytes(data[at + 4 : at + 8], "big")
        and int.from_bytes(length, "big") <= MAX_PAYLOAD_BYTES
    )


def judge(data: bytes) -> tuple[list[object], bool]:
    """The events of the valid prefix, and whether the log is corrupt."""
    events: list[object] = []
    ends = {0}
    at = 0
    while at < len(data):
        record = whole_record(data, at)
        if record is None:
            return events, not is_torn_tail(data, at)
        if record.sequence != len(events) + 1 or record.synced not in ends:
            return events, True  # a splice, a duplicate or a gap
        events.append(record.event)
        ends.add(record.end)
        at = record.end
    return events, False


def is_torn_tail(data: bytes, at: int) -> bool:
    """Whether the invalid record at `at` is what a crash leaves."""
    starts = range(len(data) - HEADER_BYTES)
    valid = [record for start in starts if (record := whole_record(data, start)) is not None]
    after = [record for record in valid if record.offset > at]
    if not after:
        left = len(data) - at
        if left < HEADER_BYTES:
            return True
        if header_holds(data, at):
            return True  # runs past the end of the file, or a last record with a bad payload
        for chunk in range(-(-at // 512) * 512, len(data) - 511, 512):
            if not any(data[chunk : chunk + 512]):
                return True
    highest = max((record.synced for record in valid), default=0)
    return at >= highest
