"""Conversations on a disk that refuses to write."""

import logging
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mead import Mead
from mead.turn import TurnStatus
from tests.sessions.conftest import stored_in


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    return stored_in(tmp_path / "var")


ROOT = Path(__file__).parents[2]

FULL = """
from gevent import monkey; monkey.patch_all()
import resource, sys
from mead import Mead, errors

with Mead({"storage": {"directory": sys.argv[1]}}) as mead:
    session_id = mead.start_session()
    kept = [mead.submit(session_id, "before").turn.id]
    import os
    size = os.path.getsize(f"{sys.argv[1]}/{session_id}.log")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
    try:
        mead.submit(session_id, "x" * 5000)
        print("NOT REFUSED")
    except errors.PersistenceError as error:
        print("refused:", error.message)
    print("history", [t.id for t in mead.history(session_id)] == kept)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    kept.append(mead.submit(session_id, "after").turn.id)
    print("goes on", [t.id for t in mead.history(session_id)] == kept)
    mead.stop_session(session_id)
    print("stored", [t.id for t in mead.history(session_id)] == kept)
"""


def test_a_disk_that_refuses_costs_one_turn_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "var")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
        preexec_fn=_ignore_size_signal,
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("refused: the storage disk refused"), done.stderr
    assert str(tmp_path) not in lines[0]
    assert lines[1:] == ["history True", "goes on True", "stored True"]


def _ignore_size_signal() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_a_closing_that_the_disk_refuses_is_answered_and_not_durable(
    mead: Mead, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is out already: the turn says so, and the next one brings it to the disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    session_id = mead.start_session(handler="puppet")
    directory = Path(str(mead.settings.storage.directory))

    class Limiting:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            size = (directory / f"{session_id}.log").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
            return text

    try:
        mead.stop_session(session_id)
        mead.resume_session(session_id, handler="puppet")
        mead.stop_session(session_id)
        mead._pool().resume_session(session_id, Limiting(), 5000)
        with caplog.at_level(logging.WARNING):
            receipt = mead.submit(session_id, "answered")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, previous)
    assert receipt.output == "answered"
    assert not receipt.turn.durable
    assert "was not stored" in caplog.text
    assert "answered" not in caplog.text
    mead.stop_session(session_id)
    mead.resume_session(session_id, handler="puppet")
    assert mead.submit_turn(session_id, "next") == "next"
    mead.stop_session(session_id)
    turns = mead.history(session_id)
    assert turns[-1].input == "next"
    assert turns[0].status in (TurnStatus.COMPLETED, TurnStatus.INTERRUPTED)
