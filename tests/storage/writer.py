"""A process that talks in several conversations until it is killed.  Run with `-m`.

Every event is announced on standard output before it is written and acknowledged afterwards:

    start <session> <turn>      about to be opened
    open <session> <turn>       its opening is acknowledged
    close <session> <turn> <digest of the answer>
    refused <message>           the disk refused; only with a file size limit
"""

import argparse
import hashlib
import os
import random
import resource
from pathlib import Path

import gevent

from mead.config.settings import StorageSettings
from mead.errors import PersistenceError
from mead.protocols import TurnAppended, TurnLog, TurnReplaced, TurnsInterrupted
from mead.storage.directory import prepare_directory
from mead.storage.disk import RealDisk, RealFile
from mead.storage.session_store import FileStore
from mead.turn import utc_now
from tests.storage.conversation import completed, running

BUFFER_BYTES = 64 * 1024


class BufferedFile(RealFile):
    """Keeps what is written until there is much of it, as a file object with a buffer does."""

    _held = b""

    def write(self, data: bytes) -> int:
        self._held += data
        if len(self._held) > BUFFER_BYTES:
            self._flush()
        return len(data)

    def sync(self) -> None:
        pass

    def close(self) -> None:
        self._flush()
        super().close()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        super().write(held)


class CarelessFile(RealFile):
    """Takes a short write for a whole one."""

    def write(self, data: bytes) -> int:
        super().write(data)
        return len(data)


class WrongDisk(RealDisk):
    """The real disk with another kind of file."""

    def __init__(self, kind: type[RealFile]) -> None:
        super().__init__()
        self._kind = kind

    def open(self, path, mode):
        file = super().open(path, mode)
        if mode == "read":
            return file
        descriptor, file._fd = file._fd, -1
        return self._kind(descriptor)


DISKS = {
    "right": RealDisk,
    "buffered": lambda: WrongDisk(BufferedFile),
    "careless": lambda: WrongDisk(CarelessFile),
}


def tell(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def resume(store: FileStore, session_id: str) -> TurnLog:
    """As a History does: what was running is interrupted, then the file is compacted."""
    if session_id not in {entry.session_id for entry in store.entries()}:
        return store.create(session_id)
    log = store.open(session_id)
    log.write(TurnsInterrupted(utc_now()))
    log.compact(log.replay())
    return log


def talk(log: TurnLog, session_id: str, chance: random.Random) -> None:
    while True:
        turn = running("p" * chance.randrange(500, 10_000))
        tell("start", session_id, turn.id)
        log.write(TurnAppended(turn))
        tell("open", session_id, turn.id)
        answer = f"{turn.id} " + "a" * chance.randrange(500, 10_000)
        log.write(TurnReplaced(completed(turn, answer)))
        tell("close", session_id, turn.id, digest(answer))
        if log.wants_compaction():
            log.compact(log.replay())


def talk_under_a_limit(log: TurnLog, session_id: str, limit: int, *, stops: bool) -> None:
    """Until the file may not grow; then the limit is lifted, and two more turns follow.

    With `stops` the process ends at the first refusal instead.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    chance = random.Random(1)
    left = 3
    while left:
        turn = running("p" * chance.randrange(500, 3000))
        tell("start", session_id, turn.id)
        try:
            log.write(TurnAppended(turn))
        except PersistenceError as error:
            tell("refused", error.message)
            if stops:
                return
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            left = 2
            continue
        tell("open", session_id, turn.id)
        answer = f"{turn.id} " + "a" * chance.randrange(500, 3000)
        try:
            log.write(TurnReplaced(completed(turn, answer)))
        except PersistenceError:
            if stops:
                return
            continue
        tell("close", session_id, turn.id, digest(answer))
        left -= left < 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("sessions", nargs="+")
    parser.add_argument("--fsync", default="turn")
    parser.add_argument("--disk", default="right", choices=DISKS)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--stops", action="store_true")
    asked = parser.parse_args()
    prepare_directory(asked.directory)
    disk = DISKS[asked.disk]()
    settings = StorageSettings(
        directory=asked.directory, fsync=asked.fsync, compact_after_bytes=50_000
    )
    store = FileStore(settings, disk=disk)
    if asked.limit:
        session_id = asked.sessions[0]
        log = store.create(session_id)
        talk_under_a_limit(log, session_id, asked.limit, stops=asked.stops)
        return
    logs = {session_id: resume(store, session_id) for session_id in asked.sessions}
    gevent.joinall(
        [gevent.spawn(talk, log, each, random.Random(each)) for each, log in logs.items()],
        raise_error=True,
    )


if __name__ == "__main__":
    main()
