"""Turns and sessions: what the actors cost.  `.venv/bin/python -m benchmarks.bench_turns`"""

from gevent import monkey

monkey.patch_all()


import gc
import subprocess
import sys
import time
from collections.abc import Callable

import gevent
import psutil
from gevent.event import AsyncResult
from gevent.queue import Queue

from benchmarks.report import figure, header, note
from mead import Mead

ROUNDS = 40
IDLE_SESSIONS = 10_000
KIB = 1024


def main() -> None:
    header("turns and sessions")
    if len(sys.argv) > 1:  # the memory of idle sessions, in a process of its own
        idle_sessions()
        return
    echo_turn()
    subprocess.run([sys.executable, "-m", "benchmarks.bench_turns", "idle"], check=True)


def echo_turn() -> None:
    """An echo turn through the public API against one bare queue round trip."""
    queue: Queue[tuple[AsyncResult[str], str]] = Queue()

    def server() -> None:
        while True:
            reply, text = queue.get()
            reply.set(text)

    serving = gevent.spawn(server)

    def bare() -> None:
        reply: AsyncResult[str] = AsyncResult()
        queue.put((reply, "x"))
        reply.get()

    with Mead() as mead:
        session_id = mead.start_session()

        def turn() -> None:
            mead.submit_turn(session_id, "x")

        bare_s, turn_s = interleaved((bare, 1000), (turn, 100))
    serving.kill()
    ratio = turn_s / bare_s
    figure(
        "echo turn / bare queue round trip",
        f"{ratio:.1f} ({turn_s * 1e6:.0f} us / {bare_s * 1e6:.1f} us)",
        "at most 15",
        met=ratio <= 15,
    )


def interleaved(*jobs: tuple[Callable[[], None], int]) -> list[float]:
    """The best time of each job, in seconds a call, taken in turns.

    Processor time, because other programs on the machine are not part of the comparison; neither
    job waits for anything but this process.
    """
    best = [float("inf")] * len(jobs)
    for _ in range(ROUNDS):
        for place, (job, count) in enumerate(jobs):
            started = time.process_time()
            for _ in range(count):
                job()
            best[place] = min(best[place], (time.process_time() - started) / count)
    return best


def idle_sessions() -> None:
    """Resident memory and start time of idle sessions."""
    with Mead({"runtime": {"maximum_sessions": IDLE_SESSIONS}}) as mead:
        process = psutil.Process()
        gc.collect()
        before = process.memory_info().rss
        started = time.process_time()
        for _ in range(IDLE_SESSIONS):
            mead.start_session()
        each_us = (time.process_time() - started) / IDLE_SESSIONS * 1e6
        gevent.sleep(0.1)
        gc.collect()
        each_kib = (process.memory_info().rss - before) / IDLE_SESSIONS / KIB
        figure(
            f"memory of one of {IDLE_SESSIONS} idle sessions",
            f"{each_kib:.1f} KiB",
            "at most 40 KiB",
            met=each_kib <= 40,
        )
        figure("starting a session", f"{each_us:.0f} us", "at most 500 us", met=each_us <= 500)
        note("two greenlets a session: the supervisor has none of its own")


if __name__ == "__main__":
    main()
