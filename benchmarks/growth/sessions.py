"""Conversations that run, stored."""

import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.growth.fit import CONSTANT, LINEAR, Curve
from benchmarks.growth.measure import cpu_us, resident, rise_kib
from mead import Mead
from mead.ids import new_session_id
from mead.mcp.server.calls import Calls

OTHERS = 200
"""Handles that are not a conversation's."""
MOST = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - OTHERS
SIZES = tuple(size for size in (10, 100, 1000, 10_000) if size <= MOST)
"""Each holds its file open."""


def curves(sizes: Sequence[int]) -> Iterator[Curve]:
    """Starting one, its memory, a turn among them, the list and a page of it, a stop and resume."""
    start = Curve("starting a conversation; all up to that many", "us", CONSTANT)
    memory = Curve("memory of that many conversations", "KiB", LINEAR)
    turn = Curve("a turn among that many", "us", CONSTANT)
    whole = Curve("the list of all", "us", LINEAR)
    page = Curve("a page of 50 of the list", "us", LINEAR)
    shown = Curve("the list that a device shows", "us", LINEAR)
    again = Curve("a stop and a resume among that many", "us", CONSTANT)
    with tempfile.TemporaryDirectory() as directory, _mead(directory, sizes[-1] + 10) as mead:
        talking, coming = mead.start_session(), mead.start_session()
        mead.submit_turn(talking, "hello")
        calls = Calls(mead, allow_effect=False)
        before, done = resident(), 0
        for size in sizes:
            began = time.process_time()
            for _ in range(size - done):
                mead.start_session()
            start.add(size, (time.process_time() - began) * 1e6 / (size - done))
            done = size
            memory.add(size, rise_kib(before, resident()))
            turn.add(size, cpu_us(lambda: mead.submit_turn(talking, "hello"), 20))
            whole.add(size, cpu_us(mead.list_sessions, 3))
            page.add(size, cpu_us(lambda: calls.list_sessions({}, None), 3))
            shown.add(size, cpu_us(mead.deck().sessions, 3))
            again.add(size, cpu_us(lambda: _again(mead, coming), 5))
    yield from (start, memory, turn, whole, page, shown, again, _boot(sizes))


def _boot(sizes: Sequence[int]) -> Curve:
    """A start over conversations that are stored and have titles."""
    boot = Curve("a start over that many stored conversations", "us", LINEAR)
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            with _mead(name, 10) as mead:
                first = Path(name) / f"{mead.start_session()}.log"
            for _ in range(size):
                other = first.with_stem(new_session_id())
                other.write_bytes(first.read_bytes())
                other.with_suffix(".title").write_text("a title")
            boot.add(size, cpu_us(lambda name=name: _started(name), rounds=3))
    return boot


def _started(directory: str) -> None:
    with _mead(directory, 10):
        pass


def _again(mead: Mead, session_id: str) -> None:
    mead.stop_session(session_id)
    mead.resume_session(session_id)


def _mead(directory: str, sessions: int) -> Mead:
    return Mead(
        {
            "storage": {"directory": directory, "fsync": "never"},
            "runtime": {"maximum_sessions": sessions},
            "mcp_server": {"maximum_connections": 1},
        }
    )
