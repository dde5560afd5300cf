"""A routed, streamed turn through Mead and through the LiteLLM proxy, before the same model.

`.venv/bin/python -m benchmarks.bench_litellm`; about five minutes.  The model is replay_server.py:
20 tokens, always the same.  Mead's door is the deck, which streams as LiteLLM does; its MCP face
shows progress four times a second by design, so only its turns a second are compared.
"""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.device import DECK_TOKEN
from benchmarks.peers import Options, Peer, options, skipping
from benchmarks.report import header, note, versus
from benchmarks.servers import MIB, Running, free_port, gunicorn, helper, started
from benchmarks.mead_turns import MCP_TOKEN, mcp_turns, slots
from benchmarks.turns_load import PROMPT, load

LITELLM_KEY = "sk-litellm-of-the-benchmark-0123456789"
CHAT = {"model": "replay", "stream": True, "messages": [{"role": "user", "content": PROMPT}]}
PLACES = 1200
FEWEST = 64
"""Conversations of a run of Mead's; each gets its turns in its turn, so that none grows long."""

Report = dict[str, float]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    at_once: tuple[int, ...] = (1, 16, 64)
    seconds: float = 3.0
    rounds: int = 3
    pace_ms: int = 2
    """Between the tokens of a turn whose first one is timed; turns of the other kind come whole."""


@dataclass(frozen=True)
class Way:
    """One way to the model: a server, or none."""

    name: str
    load: "partial[Report]"
    """Wants `lanes`, `at_once` and `seconds`."""
    server: Running | None = None
    has_sessions: bool = False

    def run(self, at_once: int, seconds: float) -> Report:
        """One run."""
        conversations = max(FEWEST, 4 * at_once)
        lanes = conversations if self.has_sessions else at_once
        pid = self.server.pid if self.server else None
        return self.load(lanes=lanes, at_once=at_once, seconds=seconds, pid=pid)


def main(given: Options | None = None, size: Size = Size()) -> None:
    header("a routed, streamed turn: Mead and the LiteLLM proxy", "gunicorn", "requests")
    peer = (given or options()).peer("litellm")
    if peer is not None:
        note(f"against {peer.versions('litellm', 'uvicorn', 'aiohttp')}, one worker each")
        with skipping("litellm"):
            first_tokens(peer, size)
            throughput(peer, size)


def first_tokens(peer: Peer, size: Size) -> None:
    """How much later the first token comes than straight from the model; one turn at a time."""
    with helper("replay_server.py") as model, both(peer, model, str(size.pace_ms)) as servers:
        mead, litellm = servers
        versus("boot to ready", mead.boot_s, litellm.boot_s, "s", most=1)
        versus("memory at rest", mead.memory() / MIB, litellm.memory() / MIB, "MB", most=1 / 3)
        ways = (direct(model, str(size.pace_ms)), by_deck(mead), by_http(litellm))
        rounds = measured(ways, 1, size)
        bare, ours, theirs = (median(reports) for reports in rounds)
        for part in ("p50", "p99"):
            least, added, their_added = (one[f"first_{part}_ms"] for one in (bare, ours, theirs))
            versus(
                f"added time to the first token, {part} (the model's own: {least:.2f} ms)",
                added - least,
                their_added - least,
                "ms",
                most=1 / 5,
            )
        versus(
            f"processor time of a turn of 20 tokens, {size.pace_ms} ms apart",
            ours["cpu_us"] / 1000,
            theirs["cpu_us"] / 1000,
            "ms",
            most=1 / 5,
        )


def throughput(peer: Peer, size: Size) -> None:
    """Turns a second, and the memory afterwards."""
    with helper("replay_server.py") as model, both(peer, model, "now") as (mead, litellm):
        ways = (direct(model, "now"), by_deck(mead), by_mcp(mead), by_http(litellm))
        for at_once in size.at_once:
            reports = [median(rounds) for rounds in measured(ways, at_once, size)]
            for way, report in zip(ways, reports, strict=True):
                note(f"{at_once} at once, {way.name}: {shown(report)}")
            _, deck, mcp, theirs = (report["rate"] for report in reports)
            versus(f"turns a second, deck, {at_once} at once", deck, theirs, "/s", least=5)
            versus(f"turns a second, MCP, {at_once} at once", mcp, theirs, "/s", least=5)
        versus(
            "memory after it", mead.memory() / MIB, litellm.memory() / MIB, "MB (PSS)", most=1 / 3
        )
        versus(
            "  the same", mead.resident() / MIB, litellm.resident() / MIB, "MB (RSS)", most=1 / 3
        )


def measured(ways: tuple[Way, ...], at_once: int, size: Size) -> list[list[Report]]:
    """For each way its runs, taken in turns after one that is not counted."""
    for way in ways:
        way.run(at_once, size.seconds)
    rounds = [[way.run(at_once, size.seconds) for way in ways] for _ in range(size.rounds)]
    return [list(reports) for reports in zip(*rounds, strict=True)]


# -- the ways to the model -------------------------------------------------------------------------


@contextmanager
def both(peer: Peer, model: int, pace: str) -> Iterator[tuple[Running, Running]]:
    """Mead and LiteLLM before the model."""
    with mead_before(model, pace) as mead, litellm_before(peer, model, pace) as litellm:
        yield mead, litellm


@contextmanager
def mead_before(model: int, pace: str) -> Iterator[Running]:
    """Its defaults with storage on; both slots are the model, `auto` chooses."""
    toml = (
        f'token = "{MCP_TOKEN}"\n[deck]\ntoken = "{DECK_TOKEN}"\n'
        f'[storage]\ndirectory = "{{home}}/sessions"\n{slots(model, pace)}'
    )
    with gunicorn(toml, places=PLACES) as mead:
        yield mead


@contextmanager
def litellm_before(peer: Peer, model: int, pace: str) -> Iterator[Running]:
    """One worker, no database, a key; two deployments, between which its router chooses."""
    port = free_port()
    deployment = (
        "  - model_name: replay\n    litellm_params:\n      model: openai/replay\n"
        f"      api_base: http://127.0.0.1:{model}/{pace}/v1\n      api_key: none\n"
    )
    config = (
        f"model_list:\n{deployment}{deployment}"
        f"general_settings:\n  master_key: {LITELLM_KEY}\nlitellm_settings:\n  telemetry: false\n"
    )
    command = [peer.script("litellm"), "--config", "{home}/config.yaml", "--telemetry", "False"]
    environ = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOG": "ERROR",
    }
    with started(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"],
        port,
        "/health/liveliness",
        environ=environ,
        files={"config.yaml": config},
    ) as litellm:
        yield litellm


def direct(model: int, pace: str) -> Way:
    path = f"/{pace}/v1/chat/completions"
    return Way(
        "the model alone", partial(load, port=model, wire="http", path=path, token="-", body=CHAT)
    )


def by_deck(mead: Running) -> Way:
    return Way("Mead's deck", partial(load, port=mead.port, wire="deck"), mead, has_sessions=True)


def by_mcp(mead: Running) -> Way:
    asked = partial(load, port=mead.port, wire="http", **mcp_turns("router", watched=True))
    return Way("Mead's MCP face", asked, mead, has_sessions=True)


def by_http(litellm: Running) -> Way:
    path = "/v1/chat/completions"
    asked = partial(load, port=litellm.port, wire="http", path=path, token=LITELLM_KEY, body=CHAT)
    return Way("LiteLLM", asked, litellm)


# -- reports ---------------------------------------------------------------------------------------


def median(reports: list[Report]) -> Report:
    """Number by number."""
    return {key: statistics.median(one[key] for one in reports) for key in reports[0]}


def shown(report: Report) -> str:
    return (
        f"{report['rate']:,.0f} turns/s, p50 {report['whole_p50_ms']:.1f} ms,"
        f" p99 {report['whole_p99_ms']:.1f} ms, {report['cpu_us'] / 1000:.2f} ms CPU a turn"
    )


if __name__ == "__main__":
    main()
