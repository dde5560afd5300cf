"""Boot and rest: time to ready and resident memory.  `.venv/bin/python -m benchmarks.bench_boot`"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from benchmarks.report import figure, header, note

ROOT = Path(__file__).parents[1]
RUNS = 5
BOUND_S = 20.0
MIB = 1024 * 1024


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
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "MEAD_STORAGE__DIRECTORY": f"{folder}/var",
            "MEAD_MCP_SERVER__PORT": str(port),
        }
        started = time.perf_counter()
        master = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "wsgi:app"],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until_ready(f"http://127.0.0.1:{port}/readyz")
            seconds = time.perf_counter() - started
            time.sleep(1)
            (worker,) = psutil.Process(master.pid).children()
            return seconds, rss(worker), rss(psutil.Process(master.pid))
        finally:
            master.terminate()
            master.wait(BOUND_S)


def wait_until_ready(url: str) -> None:
    limit = time.monotonic() + BOUND_S
    while time.monotonic() < limit:
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.01)
    raise TimeoutError(url)


def rss(process: psutil.Process) -> float:
    """Memory that is this process's own: pages shared with the master count once."""
    return float(process.memory_full_info().uss)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
