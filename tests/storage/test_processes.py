"""Real processes: killed with -9 under load, or forbidden to write more."""

import random
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from mead.config.settings import StorageSettings
from mead.errors import CorruptHistory
from mead.ids import new_session_id
from mead.storage.session_store import FileStore
from mead.turn import TurnStatus
from tests.helpers.killed import BOUND_S, killed
from tests.storage.writer import digest


class Lost(AssertionError):
    """Something that was acknowledged is not there, or something is there that was not said."""


class Record:
    """What the writers said, over all their lives."""

    def __init__(self) -> None:
        self.started: dict[str, list[str]] = {}
        self.opened: dict[str, list[str]] = {}
        self.closed: dict[str, str] = {}
        self.refusals: list[str] = []

    def hear(self, line: str) -> None:
        word, *rest = line.split(" ")
        if word == "start":
            self.started.setdefault(rest[0], []).append(rest[1])
        elif word == "open":
            self.opened.setdefault(rest[0], []).append(rest[1])
        elif word == "close":
            self.closed[rest[1]] = rest[2]
        elif word == "refused":
            self.refusals.append(" ".join(rest))
        else:
            raise AssertionError(f"the writer said {line!r}")

    def check(self, store: FileStore) -> None:
        """Every acknowledged turn is there, once, in order, with its answer; nothing else is."""
        for session_id, started in self.started.items():
            try:
                turns = store.load(session_id)
            except CorruptHistory as error:
                raise Lost(f"unreadable: {error}") from None
            ids = [turn.id for turn in turns]
            if len(set(ids)) != len(ids):
                raise Lost("a turn is doubled")
            if [each for each in started if each in set(ids)] != ids:
                raise Lost("turns are out of order, or strangers")
            lost = set(self.opened.get(session_id, ())) - set(ids)
            if lost:
                raise Lost(f"{len(lost)} acknowledged turns are lost")
            for turn in turns:
                self._check_answer(turn)

    def _check_answer(self, turn) -> None:
        expected = self.closed.get(turn.id)
        if expected is not None and turn.status is not TurnStatus.COMPLETED:
            raise Lost("an acknowledged answer is lost")
        if expected is not None and digest(turn.output) != expected:
            raise Lost("an answer is not the one that was acknowledged")


def writer(directory: Path, *arguments: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return killed("-m", "tests.storage.writer", str(directory), *arguments)


def live_and_die(directory: Path, record: Record, lines: int, *arguments: str) -> None:
    """Run a writer, kill it after it has said `lines` lines, and hear it out."""
    with writer(directory, *arguments) as process:
        for _ in range(lines):
            line = process.stdout.readline()
            assert line, "the writer ended by itself"
            record.hear(line.decode().rstrip("\n"))
        process.kill()
        *whole, _ = process.stdout.read().decode().split("\n")
        for line in whole:
            record.hear(line)


def kill_loop(directory: Path, kills: int, *arguments: str) -> Record:
    sessions = [new_session_id() for _ in range(4)]
    record = Record()
    chance = random.Random(kills)
    store = FileStore(StorageSettings(directory=directory))
    try:
        for _ in range(kills):
            live_and_die(directory, record, chance.randrange(5, 400), *sessions, *arguments)
            record.check(store)
    finally:
        store.close()
    return record


@pytest.mark.spec("storage.kill-9")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("fsync", ["turn", "never"])
def test_ten_kills_lose_and_double_nothing(tmp_path, fsync) -> None:
    record = kill_loop(tmp_path, 10, "--fsync", fsync)
    assert len(record.closed) > 50


@pytest.mark.stress
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("fsync", ["always", "turn", "interval", "never"])
def test_fifty_kills_lose_and_double_nothing_under_every_policy(tmp_path, fsync) -> None:
    kill_loop(tmp_path, 50, "--fsync", fsync)


@pytest.mark.timeout(60)
def test_the_kill_loop_sees_a_log_that_acknowledges_before_it_writes(tmp_path) -> None:
    with pytest.raises(Lost):
        kill_loop(tmp_path, 5, "--disk", "buffered")


# -- RLIMIT_FSIZE ----------------------------------------------------------------------------------


def write_under_a_limit(directory: Path, limit: int, *arguments: str) -> Record:
    session_id = new_session_id()
    record = Record()
    with writer(directory, session_id, "--limit", str(limit), *arguments) as process:
        for line in process.stdout:
            record.hear(line.decode().rstrip("\n"))
        assert process.wait(BOUND_S) == 0
    store = FileStore(StorageSettings(directory=directory))
    try:
        record.check(store)
        assert len(record.opened[session_id]) == len(store.load(session_id))
    finally:
        store.close()
    return record


@pytest.mark.spec("storage.file-size-limit")
@pytest.mark.parametrize("limit", [10_000, 40_001, 64 * 1024])
def test_a_file_size_limit_refuses_turns_and_they_go_on_once_it_is_lifted(tmp_path, limit) -> None:
    record = write_under_a_limit(tmp_path, limit)
    (message,) = record.refusals
    assert "storage disk refused" in message
    assert "space" in message or "limit" in message
    assert str(tmp_path) not in message
    assert len(record.closed) >= 3


def test_the_limit_sees_a_log_that_takes_a_short_write_for_a_whole_one(tmp_path) -> None:
    write_under_a_limit(tmp_path / "right", 10_000, "--stops")
    with pytest.raises(Lost):
        write_under_a_limit(tmp_path / "careless", 10_000, "--stops", "--disk", "careless")
