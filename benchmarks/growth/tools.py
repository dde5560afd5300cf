"""Tool servers: over HTTP, one process that stands for all of them, so that Mead's side counts."""

import logging
import time
from collections.abc import Iterator, Sequence

from benchmarks.growth.fit import CONSTANT, LINEAR, Curve
from benchmarks.growth.measure import cpu_us, resident, rise_kib
from benchmarks.soak.stage import Outside
from mead.config import ServerSettings
from mead.mcp.client.hub import Hub

SIZES = (1, 10, 100, 1000)
BOOT_S = 120
LOOK_S = 0.25


def curves(sizes: Sequence[int]) -> Iterator[Curve]:
    """The boot of a hub until every server is ready, its memory, a call, what a turn is shown."""
    boot = Curve("the boot of that many tool servers", "us", LINEAR)
    memory = Curve("memory of that many tool servers", "KiB", LINEAR)
    call = Curve("a call among that many", "us", CONSTANT)
    shown = Curve("the tools that a turn is shown, after a change", "us", LINEAR)
    status = Curve("how that many do", "us", LINEAR)
    logging.disable()
    outside = Outside()
    for size in sizes:
        servers = [_server(f"far-{number}", outside.port) for number in range(size)]
        before, began = resident(), time.process_time()
        hub = Hub(servers)
        hub.start()
        _await(hub, size)
        boot.add(size, (time.process_time() - began) * 1e6)
        memory.add(size, rise_kib(before, resident()))
        call.add(size, cpu_us(lambda hub=hub: _call(hub), 50))
        shown.add(size, cpu_us(lambda hub=hub: _shown_anew(hub)))
        status.add(size, cpu_us(hub.status))
        hub.stop()
    outside.stop()
    logging.disable(logging.NOTSET)
    yield from (boot, memory, call, shown, status)


def _shown_anew(hub: Hub) -> None:
    hub._catalog.version += 1
    hub.tools_for(None)


def _call(hub: Hub) -> None:
    outcome = hub.call_tool("far-0__add", {"a": 1, "b": 2}, None)
    assert outcome.text == "3", outcome


def _await(hub: Hub, size: int) -> None:
    """Until all are ready; seldom looked at, because to look costs as much as there are servers."""
    limit = time.monotonic() + BOOT_S
    while sum(status.state == "ready" for status in hub.status()) < size:
        assert time.monotonic() < limit, hub.status()
        time.sleep(LOOK_S)


def _server(name: str, port: int) -> ServerSettings:
    url = f"http://127.0.0.1:{port}/mcp"
    return ServerSettings(name=name, transport="http", url=url, tools={"add": "read"})
