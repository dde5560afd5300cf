"""Servers that a benchmark starts: a port, a boot that is timed, their memory, their end.

    with gunicorn(toml=tokens_toml()) as mead: ...mead.port, mead.boot_s, mead.memory()
    with started([...], port, "/health") as peer: ...

Every server is a tree of processes on this machine, in a fresh home directory, with an environment
that holds nothing but what it is given.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.helpers.with_us import WITH_US

ROOT = Path(__file__).parents[1]
BOOT_S = 60.0
END_S = 30.0
POLL_S = 0.01
MIB = 1024 * 1024


class NotStarted(Exception):
    """A server that did not come up; the message ends with what it said last."""


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    port: int
    pid: int
    boot_s: float
    """From the start of its first process to its first good answer."""
    home: Path

    def processes(self) -> list[psutil.Process]:
        """All of them, the first one first."""
        first = psutil.Process(self.pid)
        return [first, *first.children(recursive=True)]

    def memory(self) -> float:
        """Bytes of all its processes; pages that several share count once (PSS)."""
        return float(sum(one.memory_full_info().pss for one in self.processes()))

    def resident(self) -> float:
        """Bytes of all its processes; shared pages count for each (RSS)."""
        return float(sum(one.memory_info().rss for one in self.processes()))

    def cpu_s(self) -> float:
        """Processor time that its living processes have used."""
        times = [one.cpu_times() for one in self.processes()]
        return sum(each.user + each.system for each in times)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def gunicorn(
    toml: str = "",
    *,
    app: str = "wsgi:app",
    places: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Mead as `gunicorn wsgi:app` runs it.

    `toml`: the lines of its mead.toml, where {home} is its directory; the table mcp_server comes
    first, so that its keys may follow at once.  `places`: mcp_server.maximum_connections.
    """
    port = free_port()
    more = "" if places is None else f"maximum_connections = {places}\n"
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        config = home / "mead.toml"
        config.write_text(
            f"[mcp_server]\nport = {port}\n{more}" + toml.replace("{home}", directory)
        )
        command = [sys.executable, "-m", "gunicorn", app]
        given = {"MEAD_CONFIG": str(config), **(environ or {})}
        with _started(command, port, "/readyz", home, given, ROOT) as running:
            yield running


@contextmanager
def started(
    command: Sequence[str],
    port: int,
    ready: str,
    *,
    environ: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Another server, in a fresh directory with these files; {home} in a command is that directory.

    It is shown proxies that nobody serves: what it would fetch from elsewhere fails at once.
    Raises NotStarted.
    """
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        for name, text in (files or {}).items():
            (home / name).write_text(text)
        dead = "http://127.0.0.1:9"
        given = {
            **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), dead),
            **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost"),
            **{name: text.replace("{home}", directory) for name, text in (environ or {}).items()},
        }
        filled = [part.replace("{home}", directory) for part in command]
        with _started(filled, port, ready, home, given, home) as running:
            yield running


@contextmanager
def _started(
    command: Sequence[str],
    port: int,
    ready: str,
    home: Path,
    environ: Mapping[str, str],
    directory: Path,
) -> Iterator[Running]:
    log = home / "log"
    began = time.perf_counter()
    with log.open("w") as written:
        process = subprocess.Popen(
            [*WITH_US, *command],
            cwd=directory,
            env={"PATH": os.environ["PATH"], "HOME": str(home), **environ},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_ready(f"http://127.0.0.1:{port}{ready}", process, log)
        yield Running(port, process.pid, time.perf_counter() - began, home)
    finally:
        _end(process)


def wait_until_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until a GET is answered with 200.  Raises NotStarted."""
    limit = time.monotonic() + BOOT_S
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(POLL_S)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    raise NotStarted(f"it did not answer; it said last: {' / '.join(lines[-3:])}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """All of it: politely the first one, then whoever is left of its session."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(END_S)


@contextmanager
def helper(name: str) -> Iterator[int]:
    """One of our own small servers (replay_server.py ...), which prints its port; that port."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(name))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(END_S)
        process.stdout.close()
