"""Conversations and memory: Mead, the LangGraph dev server and Hermes Agent's API server.

`.venv/bin/python -m benchmarks.bench_agents`; about four minutes.  Each peer is asked what Mead is
asked too, over its own HTTP API, on keep-alive connections:

- LangGraph (`langgraph dev`, in memory): POST /threads, and POST /threads/{id}/runs/wait of a graph
  with one node that returns its input.  Mead: start_session and submit_turn with the echo handler.
- Hermes (`hermes gateway run`): POST /api/sessions, and POST /api/sessions/{id}/chat before
  replay_server.py.  Mead: the same tools with the router before the same model.

Mead keeps every turn on disk; LangGraph's dev server pickles its memory now and then; Hermes writes
to SQLite.
"""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mead_turns import MCP_TOKEN, mcp_turns, slots
from benchmarks.peers import Options, Peer, options, skipping
from benchmarks.report import header, note, versus
from benchmarks.servers import MIB, Running, free_port, gunicorn, helper, started
from benchmarks.turns_load import PROMPT, load

HERMES_KEY = "hermes-key-of-the-benchmark-0123456789"
GRAPH = Path(__file__).with_name("langgraph_graph.py")
LANES = 32


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    sessions: int = 1000
    seconds: float = 5.0
    at_once: tuple[int, ...] = (1, 8)
    """Both peers run ten turns at once by default."""
    settle_s: float = 2.0
    """Before memory at rest is read."""


@dataclass(frozen=True)
class Served:
    """A server, and a plan of turns_load for its turns."""

    name: str
    server: Running
    turns: dict

    def create(self, count: int) -> float:
        """Seconds for so many conversations, one after another on one connection."""
        wanted = self.turns["open"]
        body = json.dumps(wanted["body"])
        headers = {
            "Authorization": f"Bearer {self.turns['token']}",
            "Content-Type": "application/json",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        began = time.perf_counter()
        for _ in range(count):
            connection.request("POST", wanted["path"], body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 300:
                raise SystemExit(f"{self.name}: no conversation, status {answer.status}")
        took = time.perf_counter() - began
        connection.close()
        return took

    def load(self, at_once: int, seconds: float, lanes: int = LANES) -> dict[str, float]:
        return load(
            port=self.server.port,
            pid=self.server.pid,
            wire="http",
            lanes=lanes,
            at_once=at_once,
            seconds=seconds,
            **self.turns,
        )


def main(given: Options | None = None, size: Size = Size()) -> None:
    header("conversations: Mead, the LangGraph dev server, Hermes Agent", "gunicorn", "Flask")
    asked = given or options()
    if (peer := asked.peer("langgraph")) is not None:
        note(f"LangGraph: {peer.versions('langgraph-cli', 'langgraph-api', 'langgraph')}")
        with skipping("langgraph"):
            compare(mead_echo(), langgraph(peer), size)
    if (peer := asked.peer("hermes")) is not None:
        note(f"Hermes: {peer.versions('hermes-agent', 'aiohttp')}")
        with skipping("hermes"), helper("replay_server.py") as model:
            compare(mead_routed(model), hermes(peer, model), size)


def compare(
    ours: AbstractContextManager[Served], theirs: AbstractContextManager[Served], size: Size
) -> None:
    """Both in turn on every row."""
    with ours as mead, theirs as other:
        what = f", of {other.name}'s"
        servers = (mead.server, other.server)
        versus(f"boot to ready{what}", *(one.boot_s for one in servers), "s", most=1)
        time.sleep(size.settle_s)
        versus(f"memory at rest{what}", *(one.memory() / MIB for one in servers), "MB", most=1)
        for at_once in size.at_once:
            turns(mead, other, at_once, size.seconds)
        conversations(mead, other, size)


def turns(mead: Served, other: Served, at_once: int, seconds: float) -> None:
    """How many and how soon, after a run that is not counted."""
    reports = []
    for served in (mead, other):
        served.load(at_once, seconds / 2)
        report = served.load(at_once, seconds)
        note(
            f"{served.name}, {at_once} at once: {report['rate']:,.0f} turns/s,"
            f" p50 {report['whole_p50_ms']:.1f} ms, p99 {report['whole_p99_ms']:.1f} ms,"
            f" {report['cpu_us'] / 1000:.2f} ms CPU a turn"
        )
        reports.append(report)
    for name, key, unit, bounds in (
        ("turns a second", "rate", "/s", {"least": 1}),
        ("a turn, p50", "whole_p50_ms", "ms", {"most": 1}),
    ):
        both = (report[key] for report in reports)
        versus(f"{name}, {at_once} at once, of {other.name}'s", *both, unit, **bounds)


def conversations(mead: Served, other: Served, size: Size) -> None:
    """Beginning them, and what one weighs while it waits for its first turn."""
    took, weighs = [], []
    for served in (mead, other):
        served.create(LANES)
        before = served.server.memory()
        took.append(served.create(size.sessions))
        weighs.append((served.server.memory() - before) / size.sessions / 1024)
    what = f"of {other.name}'s"
    versus(f"to begin {size.sessions:,} conversations, {what}", *took, "s", most=1)
    versus(f"memory of one that was begun, {what}", *weighs, "KiB", most=1)


# -- the servers -----------------------------------------------------------------------------------


@contextmanager
def mead_echo() -> Iterator[Served]:
    """With storage, and the handler that returns its input."""
    with mead_server("") as server:
        yield Served("Mead", server, {**mcp_turns("echo"), "mark": PROMPT})


@contextmanager
def mead_routed(model: int) -> Iterator[Served]:
    """With storage, both slots before the model."""
    with mead_server(slots(model, "now")) as server:
        yield Served("Mead", server, mcp_turns("router"))


@contextmanager
def mead_server(router: str) -> Iterator[Running]:
    """Its defaults; a conversation that is begun may stay while others have their turns."""
    toml = (
        f'token = "{MCP_TOKEN}"\n[runtime]\nmaximum_sessions = 5000\n'
        f'[storage]\ndirectory = "{{home}}/sessions"\n{router}'
    )
    with gunicorn(toml) as server:
        yield server


@contextmanager
def langgraph(peer: Peer) -> Iterator[Served]:
    """The dev server with one graph, without its reloader."""
    port = free_port()
    config = {"dependencies": ["."], "graphs": {"echo": "./graph.py:graph"}}
    files = {"langgraph.json": json.dumps(config), "graph.py": GRAPH.read_text()}
    command = [peer.script("langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port)]
    environ = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGSMITH_TRACING": "false",
        "PYTHONUNBUFFERED": "1",
    }
    turns = {
        "path": "/threads/{id}/runs/wait",
        "body": {"assistant_id": "echo", "input": {"text": PROMPT}},
        "token": "-",
        "open": {"path": "/threads", "body": {}, "id": "thread_id"},
        "mark": PROMPT,
    }
    with started(command, port, "/ok", environ=environ, files=files) as server:
        yield Served("LangGraph", server, turns)


@contextmanager
def hermes(peer: Peer, model: int) -> Iterator[Served]:
    """The gateway with its API server alone."""
    port = free_port()
    config = (
        "model:\n  provider: custom\n  default: replay\n  api_key: none\n"
        f"  base_url: http://127.0.0.1:{model}/now/v1\n  context_length: 128000\n"
    )
    environ = {
        "HERMES_HOME": "{home}",
        "API_SERVER_ENABLED": "true",
        "API_SERVER_KEY": HERMES_KEY,
        "API_SERVER_PORT": str(port),
        "TIRITH_ENABLED": "false",
    }
    turns = {
        "path": "/api/sessions/{id}/chat",
        "body": {"message": PROMPT},
        "token": HERMES_KEY,
        "open": {"path": "/api/sessions", "body": {}, "id": "session.id"},
    }
    command = [peer.script("hermes"), "gateway", "run"]
    files = {"config.yaml": config}
    with started(command, port, "/health", environ=environ, files=files) as server:
        yield Served("Hermes", server, turns)


if __name__ == "__main__":
    main()
