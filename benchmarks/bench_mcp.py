"""The MCP face against the smallest stateless server made with the official Python SDK.

`.venv/bin/python -m benchmarks.bench_mcp`; about two minutes.  The SDK and uvicorn come with the
peers of the tests, in an environment of their own.  Both servers run one worker on this machine and
are loaded in turn, by the same keep-alive connections.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.device import ask
from benchmarks.mead_turns import MCP_TOKEN, called
from benchmarks.peers import Options, Peer, options, skipping
from benchmarks.report import figure, header, note
from benchmarks.servers import Running, free_port, gunicorn, started

HERE = Path(__file__).parent
CONNECTIONS = (1, 16, 64)
FIGURES_AT = 16
ROUNDS = 7
SECONDS = 1.5
LEAST_RATIO = 2.5
WANTED_RATIO = 3.0
SLOW_CLIENTS = 200
MOST_SLOWED = 5.0
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

Report = dict[str, float]


@dataclass(frozen=True)
class Loaded:
    """A server to be loaded, and its process."""

    server: Running

    def run(self, message: object, connections: int) -> Report:
        """One run, with the processor time of a request in microseconds."""
        before = self.server.cpu_s()
        report = load(self.server.port, message, connections)
        return {**report, "cpu_us": 1e6 * (self.server.cpu_s() - before) / report["sent"]}


def main(given: Options | None = None) -> None:
    header("the MCP face", "gunicorn", "Flask")
    peer = (given or options()).peer("mcp")
    if peer is not None:
        note(f"against {peer.versions('mcp', 'uvicorn')}")
        with skipping("mcp"), mead_server() as mead, sdk_server(peer) as sdk:
            against_the_sdk(Loaded(mead), Loaded(sdk))
    with mead_server() as mead:
        slow_clients(mead.port)


def against_the_sdk(ours: Loaded, theirs: Loaded) -> None:
    """A request that does nothing, and one that reads a history."""
    compare("ping", ours, theirs, PING)
    compare("tools/call history", ours, theirs, called("history", a_session(ours.server.port)))


def a_session(port: int) -> dict:
    """The id of a session that has had a turn, as the argument of a tool."""
    made = ask(port, "/mcp", called("start_session", {"handler": "echo"}), MCP_TOKEN)
    session = made["result"]["structuredContent"]
    turn = called("submit_turn", {**session, "input": "Hello, how are you today?"})
    assert not ask(port, "/mcp", turn, MCP_TOKEN)["result"]["isError"]
    return session


@contextmanager
def mead_server() -> Iterator[Running]:
    """Mead as `gunicorn wsgi:app` runs it."""
    with gunicorn(f'token = "{MCP_TOKEN}"\n') as server:
        yield server


@contextmanager
def sdk_server(peer: Peer) -> Iterator[Running]:
    """The other one."""
    port = free_port()
    command = [str(peer.python), str(HERE / "sdk_server.py"), str(port)]
    with started(command, port, "/ready") as server:
        yield server


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


def slow_clients(port: int) -> None:
    """200 of 250 places held by slow clients; the others' p99."""
    free = [load(port, PING, 16) for _ in range(ROUNDS)]
    command = [sys.executable, str(HERE / "slow_clients.py")]
    holders = subprocess.Popen(
        [*command, str(port), str(SLOW_CLIENTS), MCP_TOKEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        holders.stdout.readline()
        held = [load(port, PING, 16) for _ in range(ROUNDS)]
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
