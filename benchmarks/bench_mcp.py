"""The MCP face against the smallest stateless server made with the official Python SDK.

`.venv/bin/python -m benchmarks.bench_mcp`; about two minutes.  The SDK and uvicorn come with the
peers of the tests, in an environment of their own.  Both servers run one worker on this machine and
are loaded in turn, by the same keep-alive connections.
"""

from gevent import monkey

monkey.patch_all()


import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.report import figure, header, note
from tests.helpers.mcp_http import use
from tests.helpers.mcp_messages import call, request
from tests.helpers.server import MCP_TOKEN, Server, free_port, running
from tests.helpers.waiting import eventually
from tests.peers import install

HERE = Path(__file__).parent
CONNECTIONS = (1, 16, 64)
FIGURES_AT = 16
ROUNDS = 7
SECONDS = 1.5
LEAST_RATIO = 2.5
WANTED_RATIO = 3.0
SLOW_CLIENTS = 200
MOST_SLOWED = 5.0

Report = dict[str, float]


@dataclass(frozen=True)
class Loaded:
    """A server to be loaded, and its process."""

    port: int
    process: psutil.Process

    def run(self, message: object, connections: int) -> Report:
        """One run, with the processor time of a request in microseconds."""
        before = self.process.cpu_times()
        report = load(self.port, message, connections)
        after = self.process.cpu_times()
        spent_s = after.user + after.system - before.user - before.system
        return {**report, "cpu_us": 1e6 * spent_s / report["sent"]}


def main() -> None:
    header("the MCP face", "gunicorn", "Flask")
    with mead_server() as mead, sdk_server() as sdk:
        session_id = use(mead, "start_session", handler="echo")["session_id"]
        use(mead, "submit_turn", session_id=session_id, input="Hello, how are you today?")
        ours = Loaded(mead.port, psutil.Process(mead.workers()[0]))
        compare("ping", ours, sdk, request("ping"))
        compare("tools/call history", ours, sdk, call("history", {"session_id": session_id}))
    with mead_server() as mead:
        slow_clients(mead)


@contextmanager
def mead_server() -> Iterator[Server]:
    """Mead as `gunicorn wsgi:app` runs it."""
    toml = f'[mcp_server]\ntoken = "{MCP_TOKEN}"\n'
    with (
        tempfile.TemporaryDirectory() as directory,
        running(Server(Path(directory), toml)) as server,
    ):
        yield server


@contextmanager
def sdk_server() -> Iterator[Loaded]:
    """The other one."""
    port = free_port()
    server = subprocess.Popen([str(install().python), str(HERE / "sdk_server.py"), str(port)])
    try:
        eventually(lambda: answers(port), 20)
        yield Loaded(port, psutil.Process(server.pid))
    finally:
        server.terminate()
        server.wait(10)


def answers(port: int) -> bool:
    try:
        return load(port, request("ping"), 1, 0.2)["requests"] > 0
    except subprocess.CalledProcessError:
        return False


def compare(name: str, ours: Loaded, theirs: Loaded, message: object) -> None:
    """Both servers in turn, some rounds; a ratio is the median of the rounds' own ratios."""
    for connections in CONNECTIONS:
        rounds = [
            (ours.run(message, connections), theirs.run(message, connections))
            for _ in range(ROUNDS)
        ]
        mead, sdk = (median(reports) for reports in zip(*rounds, strict=True))
        note(f"{name}, {connections} connections: Mead {shown(mead)}; SDK {shown(sdk)}")
        if connections != FIGURES_AT:
            continue
        least = LEAST_RATIO if name == "ping" else WANTED_RATIO
        rate, p99, cost = (ratio(rounds, key) for key in ("rate", "p99_ms", "cpu_us"))
        what = f"{name} at {FIGURES_AT} connections, times the SDK's rate"
        figure(what, f"{rate:.1f}", f"at least {least}", met=rate >= least)
        figure("  its p99, times the SDK's", f"{p99:.2f}", "below 1", met=p99 < 1)
        note(f"  its processor time, times the SDK's: {cost:.2f}")


def ratio(rounds: list[tuple[Report, Report]], key: str) -> float:
    """Ours to theirs: two runs one after the other see much the same machine."""
    return statistics.median(ours[key] / theirs[key] for ours, theirs in rounds)


def slow_clients(server: Server) -> None:
    """200 of 250 places held by slow clients; the others' p99."""
    message = request("ping")
    free = [load(server.port, message, 16) for _ in range(ROUNDS)]
    command = [sys.executable, str(HERE / "slow_clients.py")]
    holders = subprocess.Popen(
        [*command, str(server.port), str(SLOW_CLIENTS), MCP_TOKEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        holders.stdout.readline()
        held = [load(server.port, message, 16) for _ in range(ROUNDS)]
    finally:
        holders.stdin.close()
        holders.wait(10)
        holders.stdout.close()
    note(f"free: {shown(median(free))}; {SLOW_CLIENTS} slow clients: {shown(median(held))}")
    slowed = median(held)["p99_ms"] / median(free)["p99_ms"]
    figure(
        "p99 beside 200 slow clients, times the p99 without them",
        f"{slowed:.1f}",
        f"below {MOST_SLOWED}",
        met=slowed < MOST_SLOWED,
    )


def load(port: int, message: object, connections: int, seconds: float = SECONDS) -> Report:
    """One run of the load generator, in a process of its own."""
    body = json.dumps(message)
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {MCP_TOKEN}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-06-18",
        f"Content-Length: {len(body)}",
    ]
    plan = {
        "port": port,
        "connections": connections,
        "seconds": seconds,
        "request": "\r\n".join(head) + "\r\n\r\n" + body,
    }
    command = [sys.executable, str(HERE / "load.py")]
    done = subprocess.run(
        command, input=json.dumps(plan), capture_output=True, text=True, check=True, timeout=60
    )
    report: Report = json.loads(done.stdout)
    if report["errors"]:
        raise SystemExit(f"{report['errors']} answers of {port} were errors")
    return report


def median(reports: tuple[Report, ...] | list[Report]) -> Report:
    """Number by number."""
    return {key: statistics.median(one[key] for one in reports) for key in reports[0]}


def shown(report: Report) -> str:
    text = f"{report['rate']:.0f}/s, p50 {report['p50_ms']:.1f} ms, p99 {report['p99_ms']:.1f} ms"
    return f"{text}, {report['cpu_us']:.0f} us CPU" if "cpu_us" in report else text


if __name__ == "__main__":
    main()
