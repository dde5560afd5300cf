"""Event logs in a directory: opened, written, read back."""

from contextlib import contextmanager

import orjson

from mead.deck.event_log import Limits
from mead.deck.file_log import FileEventLog
from mead.deck.fold import apply
from mead.storage.event_files import EventFiles
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy
from tests.deck.story import numbered

BIG = 10_000
MIB = 1_048_576
ROOM = Limits(BIG, 64 * MIB)


def files_in(disk, directory, fsync="turn") -> EventFiles:
    policy = WritePolicy(fsync=fsync, compact_after_bytes=1)
    return EventFiles(disk, directory, policy, Syncer(3_600_000))


@contextmanager
def opened(files, session_id, limit=BIG, size=64 * MIB, boot="boot-1"):
    limits = Limits(limit, size)
    log, state = FileEventLog.open(files, session_id, limits, boot=lambda: boot)
    try:
        yield log, state
    finally:
        log.close()


def write(log, state, events, *, sync=False) -> None:
    for event in numbered(events, state.last_sequence + 1):
        log.append([event], sync=sync)
        apply(state, event)
        log.compact(state)


def replayed(log, state, after=0) -> list[int]:
    reader = log.reader(after)
    found: list[bytes] = []
    while events := reader.read(state.last_sequence):
        found += events
    reader.close()
    return [sequence_of(each) for each in found]


def sequence_of(event: bytes) -> int:
    return orjson.loads(event)["sequence"]
