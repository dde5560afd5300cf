"""Processor time and memory, of this process or another."""

import gc
import time
from collections.abc import Callable
from pathlib import Path

import psutil

MIB = 1024 * 1024
KIB = 1024
ROUNDS = 5
LEAST_KIB = 1024
"""What an allocator takes at a time hides everything smaller."""


def cpu_us(job: Callable[[], object], count: int = 1, rounds: int = ROUNDS) -> float:
    """Processor time of a call in microseconds, all threads of this process: the best round.

    Without the garbage collector, whose walks are over everything there is; what is measured over
    many calls (a turn, a start, a boot) has it.
    """
    best = float("inf")
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(count):
            job()
        best = min(best, time.process_time() - began)
    gc.enable()
    return max(best / count * 1e6, 0.01)


def resident() -> int:
    """Bytes of this process, garbage collected."""
    gc.collect()
    return psutil.Process().memory_info().rss


def rise_kib(before: int, after: int) -> float:
    """How much more that is, and not less than what chance may add."""
    return max((after - before) / KIB, LEAST_KIB)


def cpu_of(process: psutil.Process) -> float:
    """Seconds that the process's living threads have run, to the nanosecond (Linux)."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e9


def peak_above(process: psutil.Process, job: Callable[[], object]) -> int:
    """Bytes by which the process's memory rose at most while the job was done (Linux)."""
    folder = Path(f"/proc/{process.pid}")
    (folder / "clear_refs").write_text("5")  # proc(5): resets the peak
    before = process.memory_info().rss
    job()
    status = (folder / "status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * KIB
    return max(peak - before, LEAST_KIB * KIB)
