"""A streamed answer: what Mead adds to requests and SSE parsing, and how soon a text arrives.

`.venv/bin/python -m benchmarks.bench_stream`
"""

from gevent import monkey

monkey.patch_all()


import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson
import requests
from sseclient import SSEClient

from benchmarks.report import figure, header, note
from benchmarks.servers import helper
from mead.config.settings import ProviderOptions
from mead.protocols import ModelRequest
from mead.providers.anthropic import AnthropicProvider
from mead.providers.base import HttpProvider
from mead.providers.openai import OpenAiProvider

ROUNDS = 60
EVENTS = 1000
MOST = 1.5
LATEST_MS = 5.0
REQUEST = ModelRequest(history=(), prompt="x")


def main() -> None:
    header("streamed answers", "requests", "sseclient-py", "urllib3")
    with helper("stream_server.py") as port:
        url = f"http://127.0.0.1:{port}"
        for size in (1, 20):
            throughput("anthropic", AnthropicProvider, f"{url}/messages/{size}", size)
            throughput("openai", OpenAiProvider, f"{url}/chat/{size}", size)
        arrival(url)


def throughput(
    name: str, build: Callable[[ProviderOptions], HttpProvider], url: str, size: int
) -> None:
    """The whole answer through a provider against the two bare loops over the same bytes."""
    provider = build(ProviderOptions(model="replay", base_url=url))
    session = requests.Session()
    session.trust_env = False
    texts: list[str] = []

    def ours() -> None:
        texts.clear()
        provider.converse_stream(REQUEST, texts.append)
        assert len(texts) == EVENTS

    parsed, read, mine = interleaved(
        lambda: bare(session, url, lambda data: None),
        lambda: bare(session, url, orjson_or_end),
        ours,
    )
    ratio = mine.cpu_s / parsed.cpu_s
    figure(
        f"{EVENTS} events, {size} a chunk: {name} / bare requests + sseclient-py",
        f"{ratio:.2f} of its processor time ({mine.cpu_s * 1e3:.1f} / {parsed.cpu_s * 1e3:.1f} ms)",
        f"at most {MOST}",
        met=ratio <= MOST,
    )
    note(f"by the clock {mine.wall_s / parsed.wall_s:.2f}")
    note(f"against a bare loop that also reads each event's JSON {mine.cpu_s / read.cpu_s:.2f}")
    provider.close()
    session.close()


def bare(session: requests.Session, url: str, use: Callable[[str], object]) -> None:
    """What one would write without Mead, reading as fast as requests can."""
    response = session.post(url, data=b"{}", stream=True)
    count = 0
    for event in SSEClient(pieces(response)).events():
        use(event.data)
        count += 1
    assert count > EVENTS


def orjson_or_end(data: str) -> object:
    return None if data == "[DONE]" else orjson.loads(data)


def pieces(response: requests.Response) -> Iterator[bytes]:
    while data := response.raw.read1(65536, decode_content=True):
        yield data


@dataclass
class Times:
    """What a job took: half of its runs took less processor time, none took less by the clock."""

    cpu_s: float
    wall_s: float


def interleaved(*jobs: Callable[[], None]) -> list[Times]:
    """The times of each job, taken in turns."""
    taken: list[list[tuple[float, float]]] = [[] for _ in jobs]
    for _ in range(ROUNDS):
        for job, times in zip(jobs, taken, strict=True):
            cpu, wall = time.process_time(), time.perf_counter()
            job()
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return [
        Times(statistics.median(cpu for cpu, _ in times), min(wall for _, wall in times))
        for times in taken
    ]


def arrival(url: str) -> None:
    """From the moment a text was sent by another process to the callback."""
    provider = AnthropicProvider(ProviderOptions(model="replay", base_url=f"{url}/clock"))
    session = requests.Session()
    session.trust_env = False
    late: list[float] = []
    bare_late: list[float] = []

    def on_text(text: str) -> None:
        late.append((time.monotonic_ns() - int(text)) / 1e6)

    def on_data(data: str) -> None:
        text = orjson.loads(data).get("delta", {}).get("text")
        if text:
            bare_late.append((time.monotonic_ns() - int(text)) / 1e6)

    for _ in range(3):
        provider.converse_stream(REQUEST, on_text)
        bare(session, f"{url}/clock", on_data)
    provider.close()
    session.close()
    most = share(late, 0.99)
    figure(
        "a text reaches the callback (99 of 100)",
        f"{most:.2f} ms",
        f"within {LATEST_MS:g} ms",
        met=most <= LATEST_MS,
    )
    for name, times in (("Mead", late), ("the bare loop", bare_late)):
        middle, last = share(times, 0.5), share(times, 1)
        note(f"{name}: half within {middle:.2f} ms, the last of {len(times)} within {last:.2f} ms")


def share(times: list[float], part: float) -> float:
    """The time that so large a part stayed under."""
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


if __name__ == "__main__":
    main()
