"""Real processes killed with -9 while a device talks: nothing told is lost, nothing runs twice."""

import random
import subprocess
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

from mead.config.settings import StorageSettings
from mead.storage.session_store import FileStore
from mead.turn import Turn
from tests.helpers.killed import BOUND_S, killed

PATCHED = ("-m", "gevent.monkey", "--module")


def talker(directory: Path, *arguments: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return killed(*PATCHED, "tests.deck.talker", str(directory), *arguments)


class Witness:
    """Everything a client was ever told, over all the lives of the server."""

    def __init__(self) -> None:
        self.events: dict[int, dict[str, Any]] = {}
        self.session_id: str | None = None
        self.killed_in: Counter[str] = Counter()

    def hear(self, message: dict[str, Any]) -> None:
        if message["type"] == "session.snapshot":
            self.session_id = message["payload"]["session_id"]
            assert message["payload"]["last_sequence"] >= max(self.events, default=0)
        elif (sequence := message.get("sequence")) is not None:
            assert self.events.setdefault(sequence, message) == message

    def note_kill(self) -> None:
        """What the device had last been told when the server died."""
        last = self.events.get(max(self.events, default=0))
        self.killed_in[last["type"] if last else "nothing"] += 1

    def of(self, type_: str) -> list[dict[str, Any]]:
        return [e["payload"] for _, e in sorted(self.events.items()) if e["type"] == type_]

    def check(self, history: list[Turn]) -> None:
        """Once everything has ended."""
        assert sorted(self.events) == list(range(1, len(self.events) + 1))
        started = [each["turn_id"] for each in self.of("turn.started")]
        assert len(set(started)) == len(started)
        assert_paired(self.of("tool_call.started"), self.of("tool_call.finished"), "call_id")
        requests = self.of("permission.requested") + self.of("choice.requested")
        answers = self.of("permission.resolved") + self.of("choice.resolved")
        assert_paired(requests, answers, "request_id")
        ended = self.of("turn.completed") + self.of("turn.failed")
        assert_paired(self.of("turn.started"), ended, "turn_id")
        cancelled = self.of("prompt.cancelled")
        assert_paired(self.of("prompt.accepted"), ended + cancelled, "turn_id")
        assert Counter(each["turn_id"] for each in self.of("metric.updated")) == Counter(
            started * 2
        )
        self.check_history(history)

    def check_history(self, history: list[Turn]) -> None:
        ids = [turn.id for turn in history]
        assert len(set(ids)) == len(ids)
        assert set(ids) <= {each["turn_id"] for each in self.of("turn.started")}
        texts = Counter(turn.input for turn in history)
        assert set(texts.values()) == {1}, "a prompt ran twice"
        shown: dict[str, str] = {}
        for delta in self.of("text.delta"):
            shown[delta["turn_id"]] = shown.get(delta["turn_id"], "") + delta["text"]
        completed = {each["turn_id"] for each in self.of("turn.completed")}
        for turn in history:
            if turn.output is not None:
                assert turn.id in completed
                assert shown[turn.id] == turn.output


def assert_paired(opened: list, closed: list, key: str) -> None:
    """Each that was opened was closed once."""
    assert Counter(each[key] for each in opened) == Counter(each[key] for each in closed)


def live_and_die(directory: Path, witness: Witness, life: int, lines: int, *more: str) -> None:
    """Run a server, kill it after so many new lines, and hear it out."""
    known = len(witness.events)
    arguments = ["--life", str(life), *more]
    if witness.session_id is not None:
        arguments += ["--session", witness.session_id]
    with talker(directory, *arguments) as process:
        for _ in range(known + lines):
            line = process.stdout.readline()
            assert line, "the server ended by itself"
            witness.hear(orjson.loads(line))
        process.kill()
        *whole, _ = process.stdout.read().split(b"\n")
        for line in whole:
            witness.hear(orjson.loads(line))
    witness.note_kill()


def kill_loop(directory: Path, kills: int, *more: str) -> Witness:
    witness, chance = Witness(), random.Random(kills)
    for life in range(kills):
        live_and_die(directory, witness, life, chance.randrange(1, 60), *more)
    arguments = ["--finish", "--life", str(kills), "--session", str(witness.session_id), *more]
    with talker(directory, *arguments) as process:
        for line in process.stdout:
            witness.hear(orjson.loads(line))
        assert process.wait(BOUND_S) == 0
    store = FileStore(StorageSettings(directory=directory))
    try:
        witness.check(store.load(witness.session_id))
    finally:
        store.close()
    return witness


@pytest.mark.spec("deck.kill-9")
@pytest.mark.timeout(120)
def test_ten_kills_lose_nothing_that_was_told_and_run_nothing_twice(tmp_path):
    witness = kill_loop(tmp_path, 10)
    assert len(witness.events) > 100
    assert witness.of("turn.failed")
    assert witness.of("turn.completed")


@pytest.mark.stress
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fsync", ["turn", "never"])
def test_a_hundred_kills_lose_nothing_that_was_told(tmp_path, fsync):
    witness = kill_loop(tmp_path, 100, "--fsync", fsync)
    assert len(witness.killed_in) > 5, witness.killed_in
