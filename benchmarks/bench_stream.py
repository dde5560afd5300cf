"""A streamed answer: what Mead adds to requests and SSE parsing, and how soon a text arrives.

`.venv/bin/python -m benchmarks.bench_stream`
"""

from gevent import monkey

monkey.patch_all()


import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import requests
from gevent import subprocess
from sseclient import SSEClient

from benchmarks.report import figure, header, note
from mead.config.settings import ProviderOptions
from mead.protocols import ModelRequest
from mead.providers.anthropic import AnthropicProvider

ROUNDS = 40
EVENTS = 1000
MOST = 1.5
LATEST_MS = 5.0
REQUEST = ModelRequest(history=(), prompt="x")


def main() -> None:
    header("streamed answers", "requests", "sseclient-py", "urllib3")
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("stream_server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        for size in (1, 20):
            throughput(url, size)
        arrival(url)
    finally:
        server.stdin.close()
        server.wait()


def throughput(url: str, size: int) -> None:
    """The whole answer through a provider against the two bare loops over the same bytes."""
    path = f"{url}/burst/{size}"
    provider = provider_at(path)
    session = requests.Session()
    session.trust_env = False
    texts: list[str] = []

    def ours() -> None:
        texts.clear()
        provider.converse_stream(REQUEST, texts.append)
        assert len(texts) == EVENTS

    parsed, read, mine = interleaved(
        lambda: bare(session, path, lambda data: None),
        lambda: bare(session, path, orjson.loads),
        ours,
    )
    ratio = mine / parsed
    figure(
        f"{EVENTS} events, {size} a chunk: Mead / bare requests + sseclient-py",
        f"{ratio:.2f} ({mine * 1e3:.1f} ms / {parsed * 1e3:.1f} ms)",
        f"at most {MOST}",
        met=ratio <= MOST,
    )
    note(f"against the same loop that also reads each event's JSON: {mine / read:.2f}")
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


def pieces(response: requests.Response) -> Iterator[bytes]:
    while data := response.raw.read1(65536, decode_content=True):
        yield data


def interleaved(*jobs: Callable[[], None]) -> list[float]:
    """The median time of each job, in seconds, taken in turns."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(ROUNDS):
        for job, taken in zip(jobs, times, strict=True):
            started = time.perf_counter()
            job()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]


def arrival(url: str) -> None:
    """From the moment a text was sent by another process to the callback."""
    provider = provider_at(f"{url}/clock")
    late: list[float] = []

    def on_text(text: str) -> None:
        late.append((time.monotonic_ns() - int(text)) / 1e6)

    provider.converse_stream(REQUEST, on_text)
    provider.close()
    late.sort()
    middle, most = late[len(late) // 2], late[int(len(late) * 0.99)]
    figure(
        "a text reaches the callback (99 of 100)",
        f"{most:.2f} ms",
        f"within {LATEST_MS:g} ms",
        met=most <= LATEST_MS,
    )
    note(f"half of them within {middle:.2f} ms, the last of {len(late)} within {late[-1]:.2f} ms")


def provider_at(url: str) -> AnthropicProvider:
    return AnthropicProvider(ProviderOptions(model="replay", base_url=url))


if __name__ == "__main__":
    main()
