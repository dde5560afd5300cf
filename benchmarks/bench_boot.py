"""Boot and rest: time to ready and resident memory.  `.venv/bin/python -m benchmarks.bench_boot`"""

import time

import psutil

from benchmarks.report import figure, header, note
from benchmarks.servers import MIB, gunicorn

RUNS = 5


def main() -> None:
    header("boot and rest", "gunicorn", "Flask")
    boots, workers, masters = zip(*(boot() for _ in range(RUNS)), strict=True)
    best = min(boots)
    figure("boot to ready", f"{best:.2f} s", "under 2 s", met=best < 2)
    both = (min(workers) + min(masters)) / MIB
    figure(
        "memory at rest",
        f"{min(workers) / MIB:.0f} MB worker, {both:.0f} MB with gunicorn's master",
        "under 100 MB",
        met=both < 100,
    )
    note(f"boot over {RUNS} runs: {min(boots):.2f} to {max(boots):.2f} s")


def boot() -> tuple[float, float, float]:
    """Seconds to the first good /readyz, then the worker's and the master's memory in bytes."""
    with gunicorn('[storage]\ndirectory = "{home}/var"\n') as server:
        time.sleep(1)
        master, worker = map(own, server.processes())
        return server.boot_s, worker, master


def own(process: psutil.Process) -> float:
    """Memory that is this process's own (USS)."""
    return float(process.memory_full_info().uss)


if __name__ == "__main__":
    main()
