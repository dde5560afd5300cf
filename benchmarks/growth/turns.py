"""Turns in one conversation, stored."""

import tempfile
import time
from collections.abc import Iterator, Sequence

from benchmarks.growth.fit import CONSTANT, LINEAR, Curve
from benchmarks.growth.measure import cpu_us
from mead import Mead
from mead.mcp.server.calls import Calls
from mead.providers.scripted import ScriptedProvider

SIZES = (10, 100, 1000, 10_000)
TEXT = "some words of a prompt " * 20


def curves(sizes: Sequence[int]) -> Iterator[Curve]:
    """A turn, a page of the history, the whole of it, a resume, a turn with a model."""
    turn = Curve("a turn, echoed and stored; all up to that many", "us", CONSTANT)
    page = Curve("a page of 20 turns of the history", "us", LINEAR)
    whole = Curve("the whole history", "us", LINEAR)
    resume = Curve("a resume", "us", LINEAR)
    asked = Curve("a turn whose model is given the conversation", "us", LINEAR)
    with tempfile.TemporaryDirectory() as directory, _mead(directory) as mead:
        session_id = mead.start_session(handler="echo")
        done = 0
        calls, asking = Calls(mead, allow_effect=False), {"session_id": session_id}
        for size in sizes:
            began = time.process_time()
            for _ in range(size - done):
                mead.submit_turn(session_id, TEXT)
            turn.add(size, (time.process_time() - began) * 1e6 / (size - done))
            done = size
            page.add(size, cpu_us(lambda: calls.history(asking, None), 20))
            whole.add(size, cpu_us(lambda: mead.history(session_id), 20))
            mead.stop_session(session_id)
            resume.add(size, cpu_us(lambda: _resume(mead, session_id)))
            mead.resume_session(session_id, handler="router")
            asked.add(size, cpu_us(lambda: mead.submit_turn(session_id, TEXT), rounds=3))
            done += 3
            mead.stop_session(session_id)
            mead.resume_session(session_id, handler="echo")
    yield from (turn, page, whole, resume, asked)


def _resume(mead: Mead, session_id: str) -> None:
    mead.resume_session(session_id, handler="echo")
    mead.stop_session(session_id)


def _mead(directory: str) -> Mead:
    provider = ScriptedProvider(["an answer"])
    provider.requests = type(provider.requests)(maxlen=1)
    return Mead(
        {
            "storage": {"directory": directory, "fsync": "never"},
            "runtime": {"default_route": "local"},
        },
        providers={"local": provider},
    )
