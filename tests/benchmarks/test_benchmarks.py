"""The benchmarks in a tiny size, so that they cannot rot.  What they measure is not judged here."""

import json
import subprocess
import sys

import pytest

from benchmarks import bench_agents, bench_litellm, bench_socketio, report
from benchmarks.servers import ROOT, helper

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

TINY = {
    "boot": {"RUNS": 1},
    "stream": {"ROUNDS": 2},
    "deck": {
        "STREAMS": 2,
        "TOKENS": 3,
        "LISTENERS": 3,
        "CALLS": 2,
        "IDLE": 3,
        "REPLAY_CALLS": 5,
        "ROUNDS": 2,
    },
    "websocket": {"CLIENTS": 3, "IDLE": 3, "EVENTS": 10, "ROUNDS": 2},
    "mcp": {"CONNECTIONS": (1,), "ROUNDS": 1, "SECONDS": 0.2, "SLOW_CLIENTS": 4},
}
"""A benchmark and the constants that make it short."""
FIGURES = {"boot": 2, "stream": 5, "deck": 4, "websocket": 3, "mcp": 1}
"""How many figures each then prints."""


def run(name: str, *arguments: str) -> list[str]:
    """What the benchmark prints, in a process of its own; it ends well."""
    code = (
        f"import json, benchmarks.bench_{name} as module\n"
        f"vars(module).update(json.loads({json.dumps(TINY.get(name, {}))!r}))\n"
        "module.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def figures(lines: list[str]) -> int:
    return sum(line.startswith(("ok  ", "MISS ")) for line in lines)


@pytest.mark.parametrize("name", ["boot", "stream", "deck", "websocket"])
def test_a_benchmark_prints_its_machine_and_every_figure(name):
    lines = run(name)
    assert lines[0].startswith("== ")
    assert "cores (load" in lines[1]
    assert figures(lines) == FIGURES[name]


@pytest.mark.parametrize(
    ("name", "peers"),
    [
        ("litellm", ["litellm"]),
        ("agents", ["langgraph", "hermes"]),
        ("socketio", ["socketio"]),
        ("mcp", ["mcp"]),
    ],
)
def test_a_peer_that_is_absent_is_skipped_in_one_line(name, peers, tmp_path):
    lines = run(name, "--peers", str(tmp_path), "--no-install")
    skipped = [line for line in lines if line.startswith("skipped: ")]
    assert skipped == [
        f"skipped: {peer} is not installed, and --no-install forbids it" for peer in peers
    ]
    assert figures(lines) == FIGURES.get(name, 0)


@pytest.mark.parametrize("pace", ["now", "1"])
def test_turns_reach_the_replayed_model_directly_and_through_both_doors(pace):
    with helper("replay_server.py") as model, bench_litellm.mead_before(model, pace) as mead:
        for way in (
            bench_litellm.direct(model, pace),
            bench_litellm.by_deck(mead),
            bench_litellm.by_mcp(mead),
        ):
            answered = way.run(2, 0.2)
            assert answered["turns"] >= 2
            assert answered["errors"] == 0
            assert answered["first_p50_ms"] <= answered["whole_p50_ms"]


def test_conversations_are_compared_on_every_row(capsys):
    size = bench_agents.Size(sessions=3, seconds=0.2, at_once=(1,), settle_s=0)
    bench_agents.compare(bench_agents.mead_echo(), bench_agents.mead_echo(), size)
    lines = capsys.readouterr().out.splitlines()
    assert figures(lines) == 6


def test_a_routed_conversation_has_its_turns():
    with helper("replay_server.py") as model, bench_agents.mead_routed(model) as mead:
        assert mead.load(1, 0.2, lanes=1)["errors"] == 0


def test_the_events_of_a_turn_are_counted_at_every_device():
    size = bench_socketio.Size(listeners=3, calls=2, paced=2, idle=2, rounds=2)
    with bench_socketio.mead() as server:
        burst, paced = bench_socketio.deck_fan_out(server, size)
        assert burst.size > 100
        assert paced.size > 100
        assert bench_socketio.deck_idle(server, size) >= 0


def test_a_figure_is_met_on_the_right_side_of_its_target(capsys):
    report.versus("rate", 10, 2, "/s", least=5)
    report.versus("rate", 9, 2, "/s", least=5)
    report.versus("time", 1, 5, "ms", most=0.2)
    report.versus("time", 2, 5, "ms", most=0.2)
    report.versus("memory", 1, 0, "KiB", most=1)
    marks = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert marks == ["ok", "MISS", "ok", "MISS", "MISS"]
