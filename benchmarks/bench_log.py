"""Storage: appends, syncs of many sessions, replay.  `.venv/bin/python -m benchmarks.bench_log`"""

from gevent import monkey

monkey.patch_all()

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent
import orjson

from benchmarks.report import figure, header, note
from mead.config.settings import StorageSettings
from mead.ids import new_session_id, new_turn_id
from mead.protocols import TurnAppended, TurnLog, TurnReplaced
from mead.storage.disk import RealDisk
from mead.storage.files import examine
from mead.storage.log import RecordLog
from mead.storage.records import HEADER_BYTES, encode_record
from mead.storage.session_store import FileStore
from mead.turn import Turn, TurnStatus, utc_now

EVENT_SIZES = (200, 1000, 4000, 20_000)
SESSIONS = 64
MIB = 1024 * 1024
BIG_FILE_BYTES = 100 * 10**6
BEAT_MS = 2
"""How often the lateness of the hub is measured."""


def main() -> None:
    """All figures, on the file system of the directory named, else of the temporary directory."""
    header("storage", "orjson")
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        directory = Path(name)
        note(f"on {file_system(directory)}")
        append(directory)
        many_sessions(directory)
        replay(directory)
        resume(directory)


# -- append ----------------------------------------------------------------------------------------


def append(directory: Path) -> None:
    """RecordLog.append of ready bytes without sync against os.write of the same bytes."""
    disk = RealDisk()
    for size in EVENT_SIZES:
        rounds = [one_append(disk, directory, size, number) for number in range(9)]
        ours, bare = (statistics.median(times) * 1e6 for times in zip(*rounds, strict=True))
        ratio = statistics.median(ours / bare for ours, bare in rounds)
        figure(
            f"append of {size} bytes, never / os.write",
            f"{ratio:.2f} ({ours:.2f} us / {bare:.2f} us)",
            "at most 2.5",
            met=ratio <= 2.5,
        )
    disk.close()


def one_append(disk: RealDisk, directory: Path, size: int, number: int) -> tuple[float, float]:
    """Seconds for one append and for one bare write, in turns of a hundred."""
    event = b'"' + b"x" * (size - 2) + b'"'
    record = encode_record(1000, 0, event)
    log = RecordLog.create(disk, directory / f"append-{size}-{number}", sync=False)
    fd = os.open(directory / f"bare-{size}-{number}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    ours = bare = 0.0
    turns = 30
    for _ in range(turns):
        started = time.perf_counter()
        for _ in range(100):
            log.append(event, sync=False)
        ours += time.perf_counter() - started
        started = time.perf_counter()
        for _ in range(100):
            os.write(fd, record)
        bare += time.perf_counter() - started
    os.close(fd)
    log.close()
    return ours / turns / 100, bare / turns / 100


# -- many sessions ---------------------------------------------------------------------------------


def many_sessions(directory: Path) -> None:
    """Turns a second under `turn` of one session and of many at once, and the hub's lateness."""
    ratios: list[float] = []
    late: list[tuple[float, float, float]] = []
    rates: list[tuple[float, float]] = []
    for number in range(5):
        with store(directory / f"turns-{number}", "turn") as each:
            one = turns_a_second(each, 1, 300)
            with heart() as beats:
                many = turns_a_second(each, SESSIONS, 50)
            beats.sort()
            late.append((beats[len(beats) // 2], beats[int(len(beats) * 0.99)], beats[-1]))
        rates.append((one, many))
        ratios.append(many / one)
    one, many = (statistics.median(rate) for rate in zip(*rates, strict=True))
    ratio = statistics.median(ratios)
    figure(
        f"turns a second of {SESSIONS} sessions / of one, turn",
        f"{ratio:.1f} ({many:.0f} / {one:.0f})",
        "at least 2",
        met=ratio >= 2,
    )
    p50, p99, most = (statistics.median(each) * 1000 for each in zip(*late, strict=True))
    figure(
        "lateness of the hub meanwhile, p99",
        f"{p99:.1f} ms (p50 {p50:.1f}, most {most:.1f}; medians of {len(late)} rounds)",
        "under 10 ms",
        met=p99 < 10,
    )


@contextmanager
def store(directory: Path, fsync: str) -> Iterator[FileStore]:
    opened = FileStore(StorageSettings(directory=directory, fsync=fsync))  # type: ignore[arg-type]
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def heart() -> Iterator[list[float]]:
    """Seconds by which each beat came late."""
    beats: list[float] = []

    def beat() -> None:
        while True:
            started = time.perf_counter()
            gevent.sleep(BEAT_MS / 1000)
            beats.append(time.perf_counter() - started - BEAT_MS / 1000)

    beating = gevent.spawn(beat)
    yield beats
    beating.kill()


def turns_a_second(each: FileStore, sessions: int, turns: int) -> float:
    logs = [each.create(new_session_id()) for _ in range(sessions)]
    started = time.perf_counter()
    talking = [gevent.spawn(talk, log, turns) for log in logs]
    gevent.joinall(talking, raise_error=True)
    rate = sessions * turns / (time.perf_counter() - started)
    for log in logs:
        log.close()
    return rate


def talk(log: TurnLog, turns: int) -> None:
    for _ in range(turns):
        turn = Turn(id=new_turn_id(), input="a prompt " * 30, started_at=utc_now())
        log.write(TurnAppended(turn))
        log.write(TurnReplaced(turn.closed(TurnStatus.COMPLETED, output="an answer " * 200)))


# -- replay ----------------------------------------------------------------------------------------


def replay(directory: Path) -> None:
    """A file of 100 MB against reading the same file and parsing its payloads."""
    disk = RealDisk()
    for size in (1000, 8000):
        path = directory / f"big-{size}.log"
        spans = big_file(disk, path, size)
        rounds = [one_replay(disk, path, spans) for _ in range(5)]
        ours, bare, late = (statistics.median(times) for times in zip(*rounds, strict=True))
        ratio = statistics.median(bare / ours for ours, bare, _ in rounds)
        figure(
            f"speed of replaying 100 MB, records of {size} bytes / of reading and parsing",
            f"{ratio:.2f} ({ours * 1000:.0f} ms / {bare * 1000:.0f} ms)",
            "at least 0.5",
            met=ratio >= 0.5,
        )
        note(f"the hub was at most {late * 1000:.1f} ms late meanwhile")
        path.unlink()
    disk.close()


def big_file(disk: RealDisk, path: Path, size: int) -> list[tuple[int, int]]:
    """Write it; where its payloads start and end."""
    text = "some words of an answer\n" * (size // 48)
    event = orjson.dumps({"type": "append", "turn": {"input": text, "output": text}})
    log = RecordLog.create(disk, path, sync=False)
    spans: list[tuple[int, int]] = []
    while log.size < BIG_FILE_BYTES:
        start = log.append(event, sync=False)
        spans.append((start + HEADER_BYTES, log.size))
    log.close()
    return spans


def one_replay(
    disk: RealDisk, path: Path, spans: list[tuple[int, int]]
) -> tuple[float, float, float]:
    """Seconds for the replay, for the bare loop, and the hub's greatest lateness."""
    started = time.perf_counter()
    data = memoryview(path.read_bytes())
    for start, end in spans:
        orjson.loads(data[start:end])
    bare = time.perf_counter() - started
    del data
    file = disk.open(path, "read")
    with heart() as beats:
        started = time.perf_counter()
        verdict = examine(disk, file, lambda _: None)
        ours = time.perf_counter() - started
    file.close()
    assert verdict.records == len(spans)
    return ours, bare, max(beats)


def resume(directory: Path) -> None:
    """Opening and replaying a conversation of 1,000 turns, never compacted."""
    with store(directory / "resume", "turn") as each:
        session_id = new_session_id()
        log = each.create(session_id)
        talk(log, 1000)
        log.close()
        times: list[float] = []
        for _ in range(7):
            started = time.perf_counter()
            log = each.open(session_id)
            assert len(log.replay()) == 1000
            times.append(time.perf_counter() - started)
            log.close()
    took = statistics.median(times)
    figure("resume of 1,000 turns", f"{took * 1000:.0f} ms", "under 50 ms", met=took < 0.05)


def file_system(directory: Path) -> str:
    """The type of the file system that holds the directory, where the system tells."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "an unknown file system"
    holding = [each for each in mounts if str(directory).startswith(each[1])]
    return max(holding, key=lambda each: len(each[1]))[2]


if __name__ == "__main__":
    main()
