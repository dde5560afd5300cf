"""A bounded load of streamed turns: `python -m benchmarks.turns_load < plan.json`.

One thread, epoll.  The plan: {"port", "wire", "lanes", "at_once", "seconds", ...}.  Of so many
lanes (connections) that many have a turn under way; the lane whose turn ended goes to the end of
the line, so each conversation is used in its turn.  Wires:

- `http`: a POST of "body" to "path" with the bearer "token".  With "open" ({"path", "body", "id"})
  each lane first makes a session; its id, which lies at "id" in the answer, stands for {id} in path
  and body.
- `deck`: a WebSocket of Mead's, each lane a conversation of its own.

An answer is good if it holds the plan's "mark" (else the model's first token), a deck's also if the
turn was completed.  The report on stdout: {"turns", "rate", "errors", "first_p50_ms",
"first_p99_ms", "whole_p50_ms", "whole_p99_ms", "cpu_us"}: until the mark, until the end, and the
processor time of a turn in the tree of processes of the plan's "pid", if it names one.
"""

import json
import re
import selectors
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from itertools import count

import psutil

from benchmarks.device import BUFFER, Device, ask, prompt
from benchmarks.replay_server import FIRST
from benchmarks.servers import ROOT

WARM_UP = 0.3
"""Of the time, for which nothing is counted."""
PATIENCE_S = 60.0
"""Beyond the time asked for, with a server that is so slow."""
LAST_CHUNK = b"0\r\n\r\n"
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
PROMPT = "Translate to French: good morning"


class Closed(Exception):
    """The connection ended where an answer was to begin."""


class Lane(ABC):
    """One connection and the turn under way on it."""

    def __init__(self, connection: socket.socket, mark: str) -> None:
        self.socket = connection
        self.mark = mark.encode()
        self.received = b""
        self.began = self.first = 0.0

    def begin(self) -> None:
        self.received, self.first = b"", 0.0
        self.began = time.perf_counter()
        self.socket.sendall(self.request())

    def receive(self) -> bool:
        """Whether the turn has ended.  Raises ConnectionError, Closed before an answer began."""
        data = self.socket.recv(BUFFER)
        if not data:
            raise ConnectionError("the server closed") if self.received else Closed
        self.received += data
        if not self.first and self.mark in self.received:
            self.first = time.perf_counter()
        return self.has_ended()

    def renew(self) -> None:
        raise ConnectionError("the server closed")

    @abstractmethod
    def request(self) -> bytes:
        """What begins the next turn."""

    @abstractmethod
    def has_ended(self) -> bool:
        """Whether all of the answer was received."""

    @abstractmethod
    def is_good(self) -> bool:
        """Whether it is the right one."""


class HttpLane(Lane):
    """A keep-alive connection."""

    def __init__(self, plan: dict) -> None:
        self._port = plan["port"]
        super().__init__(self._connected(), plan.get("mark", FIRST))
        path, body = plan["path"], json.dumps(plan["body"])
        if "open" in plan:
            session_id = opened(plan)
            path, body = path.replace("{id}", session_id), body.replace("{id}", session_id)
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{plan['port']}",
            f"Authorization: Bearer {plan['token']}",
            "Content-Type: application/json",
            f"Accept: {plan.get('accept', 'application/json, text/event-stream')}",
            f"Content-Length: {len(body)}",
        ]
        self._request = ("\r\n".join(head) + "\r\n\r\n" + body).encode()

    def _connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def renew(self) -> None:
        """Ask again on a new connection: a server may close one between two requests."""
        self.socket.close()
        self.socket = self._connected()
        self.begin()

    def request(self) -> bytes:
        return self._request

    def has_ended(self) -> bool:
        head, found, body = self.received.partition(b"\r\n\r\n")
        if (length := LENGTH.search(head)) is not None:
            return bool(found) and len(body) >= int(length[1])
        return body.endswith(LAST_CHUNK)

    def is_good(self) -> bool:
        return self.first > 0 and self.received[9:12] == b"200"


def opened(plan: dict) -> str:
    """The id of a new session."""
    wanted = plan["open"]
    found = ask(plan["port"], wanted["path"], wanted["body"], plan["token"])
    for key in wanted["id"].split("."):
        found = found[key]
    return str(found)


class DeckLane(Lane):
    """A device and its conversation."""

    def __init__(self, plan: dict) -> None:
        super().__init__(Device(plan["port"]).socket, FIRST)
        self._numbers = count(1)

    def request(self) -> bytes:
        return prompt(PROMPT, f"m{next(self._numbers)}")

    def has_ended(self) -> bool:
        return self.received.endswith(b"}") and b'"tokens_out"' in self.received[-400:]

    def is_good(self) -> bool:
        return self.first > 0 and b'"turn.completed"' in self.received


WIRES: dict[str, type[Lane]] = {"http": HttpLane, "deck": DeckLane}


def run(plan: dict) -> dict:
    """Load the server for that long, or until as many turns as run at once have been counted."""
    wire = WIRES[plan["wire"]]
    idle = deque(wire(plan) for _ in range(plan["lanes"]))
    with selectors.DefaultSelector() as selector:
        for lane in idle:
            selector.register(lane.socket, selectors.EVENT_READ, lane)
        for _ in range(plan["at_once"]):
            start_next(idle)
        exchange(selector, idle, plan["seconds"] * WARM_UP, 1)
        cpu_s, began = cpu_of(plan), time.perf_counter()
        turns = exchange(selector, idle, plan["seconds"] * (1 - WARM_UP), plan["at_once"])
        took = time.perf_counter() - began
        cpu_s = cpu_of(plan) - cpu_s
    return {
        "turns": len(turns),
        "rate": len(turns) / took,
        "cpu_us": 1e6 * cpu_s / len(turns),
        "errors": sum(not turn.is_good for turn in turns),
        **quantiles("first", [turn.first_s for turn in turns]),
        **quantiles("whole", [turn.whole_s for turn in turns]),
    }


@dataclass(frozen=True)
class Turn:
    """How one went."""

    first_s: float
    whole_s: float
    is_good: bool


def exchange(
    selector: selectors.BaseSelector, idle: deque[Lane], seconds: float, least: int
) -> list[Turn]:
    """Take answers and begin turns; what ended meanwhile.  Raises TimeoutError."""
    turns: list[Turn] = []
    ends = time.perf_counter() + seconds
    while (now := time.perf_counter()) < ends or len(turns) < least:
        if now > ends + PATIENCE_S:
            raise TimeoutError(f"{len(turns)} turns in {seconds + PATIENCE_S} s")
        for key, _ in selector.select(1):
            lane: Lane = key.data
            try:
                if not lane.receive():
                    continue
            except Closed:
                selector.unregister(lane.socket)
                lane.renew()
                selector.register(lane.socket, selectors.EVENT_READ, lane)
                continue
            now = time.perf_counter()
            turns.append(Turn(lane.first - lane.began, now - lane.began, lane.is_good()))
            lane.received = b""
            idle.append(lane)
            start_next(idle)
    return turns


def cpu_of(plan: dict) -> float:
    """Seconds that the server's processes have used."""
    if plan.get("pid") is None:
        return 0.0
    first = psutil.Process(plan["pid"])
    times = [one.cpu_times() for one in (first, *first.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def start_next(idle: deque[Lane]) -> None:
    idle.popleft().begin()


def load(**plan: object) -> dict[str, float]:
    """`run` in a process of its own.  Raises SystemExit if an answer was wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.turns_load"],
        input=json.dumps(plan),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    report = json.loads(done.stdout)
    if report["errors"]:
        raise SystemExit(f"{report['errors']} of {report['turns']} answers were wrong: {plan}")
    return report


def quantiles(name: str, times: list[float]) -> dict[str, float]:
    times.sort()
    return {
        f"{name}_p50_ms": 1000 * times[len(times) // 2],
        f"{name}_p99_ms": 1000 * times[int(len(times) * 0.99)],
    }


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin))))
