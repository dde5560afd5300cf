"""The hub: what a tool call costs, alone and in company, and what dead servers cost the others.

`.venv/bin/python -m benchmarks.bench_hub`; about a minute.  The official SDK's client comes with
the peers of the tests, in an environment and a process of its own.
"""

from gevent import monkey

monkey.patch_all()


import logging
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import gevent

from benchmarks.bare_client import LINE
from benchmarks.report import figure, header, note
from mead.config import ServerSettings
from mead.mcp.client.command import Command, environment
from mead.mcp.client.hub import Hub
from mead.mcp.client.stdio import Child
from tests.helpers.waiting import eventually
from tests.peers import install

HERE = Path(__file__).parent
ECHO = (sys.executable, str(HERE / "echo_server.py"))
ROUNDS = 5
CALLS = 5000
CALLERS = 50
LEAST_OF_BARE = 0.5
MOST_LATENESS_MS = 10.0
WATCHED_S = 12.0


def main() -> None:
    header("the hub", "orjson", "requests")
    logging.disable()
    alone()
    in_company()
    with_dead_ones()


def alone() -> None:
    """One caller, one call after the other, against the smallest loops that drive the same server.

    The figure is for a loop over the hub's own pipes, which waits as Mead must: for many things at
    once.  A process that blocks in read() and has nothing else to do is woken sooner.
    """
    hub = hub_of(echo_server())
    against_pipes: list[float] = []
    against_process: list[float] = []
    try:
        for _ in range(ROUNDS):
            process = rate_of(sys.executable, str(HERE / "bare_client.py"), str(CALLS), *ECHO)
            pipes = over_pipes(CALLS)
            ours = sequential(hub, CALLS)
            note(f"call_tool {ours:,.0f}/s, pipes {pipes:,.0f}/s, process {process:,.0f}/s")
            against_pipes.append(ours / pipes)
            against_process.append(ours / process)
    finally:
        hub.stop()
    ratio = statistics.median(against_pipes)
    figure("call_tool / bare loop", f"{ratio:.2f}", ">= 0.5", met=ratio >= LEAST_OF_BARE)
    note(f"call_tool / a process of its own: {statistics.median(against_process):.2f}")


def over_pipes(calls: int) -> float:
    """Calls a second of a loop that writes a line, waits, and reads one."""
    command = Command(
        command=ECHO[0],
        arguments=ECHO[1:],
        environment=environment(os.environ, {}),
        directory=None,
    )
    child = Child(command)

    def turn(number: int) -> None:
        child.write(LINE % number)
        answer = b""
        while not answer.endswith(b"\n"):
            try:
                answer += os.read(child.stdout.fd, 65536)
            except BlockingIOError:
                child.stdout.wait()

    for number in range(200):
        turn(number)
    started = time.perf_counter()
    for number in range(calls):
        turn(number)
    rate = calls / (time.perf_counter() - started)
    child.stop()
    child.release()
    return rate


def in_company() -> None:
    """Fifty callers at once, against the official client on the same server."""
    python = str(install().python)
    ratios: list[float] = []
    rates: list[tuple[float, float]] = []
    hub = hub_of(echo_server())
    try:
        for _ in range(ROUNDS):
            sdk = rate_of(python, str(HERE / "sdk_client.py"), str(CALLERS), str(CALLS), *ECHO)
            ours = concurrent(hub, CALLS)
            rates.append((ours, sdk))
            ratios.append(ours / sdk)
    finally:
        hub.stop()
    ratio = statistics.median(ratios)
    ours, sdk = (statistics.median(column) for column in zip(*rates, strict=True))
    note(f"{CALLERS} callers: hub {ours:,.0f}/s, SDK {sdk:,.0f}/s")
    figure("50 callers / SDK", f"{ratio:.1f}", ">= 1", met=ratio >= 1)


def with_dead_ones() -> None:
    """Twenty servers, ten of them dead in different ways; the others are called meanwhile."""
    living = [echo_server(f"echo-{n}") for n in range(10)]
    dead = [
        *(stdio(f"missing-{n}", "no-such-command") for n in range(3)),
        *(stdio(f"leaves-{n}", "false") for n in range(3)),
        *(stdio(f"silent-{n}", "sleep", "600") for n in range(2)),
        *(
            ServerSettings(name=f"far-{n}", transport="http", url="http://127.0.0.1:1/mcp")
            for n in range(2)
        ),
    ]
    quiet = statistics.quantiles(lateness(5), n=100)[98]
    hub = Hub([*living, *dead])
    started = time.perf_counter()
    hub.start()
    boot_ms = (time.perf_counter() - started) * 1000
    figure("boot with 20 servers", f"{boot_ms:.1f} ms", "< 10 ms", met=boot_ms < 10)
    late = lateness(WATCHED_S)
    ready = sum(status.state == "ready" for status in hub.status())
    hub.stop()
    p99 = statistics.quantiles(late, n=100)[98]
    note(
        f"{ready} of 20 ready; lateness p50 {statistics.median(late):.2f}, most {max(late):.1f} ms"
    )
    note(f"lateness p99 on this machine before the hub was there: {quiet:.1f} ms")
    figure("lateness p99", f"{p99:.1f} ms", "< 10 ms", met=p99 < MOST_LATENESS_MS)


# -- help ------------------------------------------------------------------------------------------


def stdio(name: str, command: str, *arguments: str) -> ServerSettings:
    return ServerSettings(
        name=name,
        transport="stdio",
        command=command,
        arguments=arguments,
        tools={"echo": "read"},
    )


def echo_server(name: str = "echo") -> ServerSettings:
    return stdio(name, *ECHO)


def hub_of(server: ServerSettings) -> Hub:
    hub = Hub([server])
    hub.start()
    eventually(lambda: hub.status()[0].state == "ready", bound_s=20)
    return hub


def sequential(hub: Hub, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        hub.call_tool("echo__echo", {"text": "hello"}, None)
    return calls / (time.perf_counter() - started)


def concurrent(hub: Hub, calls: int) -> float:
    started = time.perf_counter()
    gevent.joinall([gevent.spawn(sequential, hub, calls // CALLERS) for _ in range(CALLERS)])
    return calls / (time.perf_counter() - started)


def rate_of(*command: str) -> float:
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def lateness(seconds: float) -> list[float]:
    """How much later than asked a greenlet wakes, in ms, asked every 5 ms."""
    late: list[float] = []
    ends = time.perf_counter() + seconds
    while (before := time.perf_counter()) < ends:
        gevent.sleep(0.005)
        late.append((time.perf_counter() - before) * 1000 - 5)
    return late


if __name__ == "__main__":
    main()
