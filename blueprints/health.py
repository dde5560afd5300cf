"""`/healthz`, `/readyz` and `/metrics`.  They hold numbers and names of parts, never a secret."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from flask import Blueprint, Response, jsonify

from blueprints.guards import Access, Guards, access

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The Prometheus text format."""


class Runtime(Protocol):
    """What health needs of `mead.api.Mead`."""

    def status(self) -> dict[str, Any]: ...


class Connections(Protocol):
    """What health needs of the worker's connections."""

    limit: int
    open: int
    refused: int
    draining: bool


class HubReport(Protocol):
    """What health needs of the hub's monitor."""

    def report(self) -> dict[str, Any]: ...


def health_blueprint(
    runtime: Runtime, connections: Connections, monitor: HubReport, guards: Guards, *, metrics: bool
) -> Blueprint:
    """The routes; `/metrics` only when there is a token to ask for it with."""
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    @access(Access.PROBE)
    def healthz() -> Response:
        """The process answers; how punctual its hub is."""
        return _fresh(jsonify(status="ok", hub=monitor.report()))

    @blueprint.get("/readyz")
    @access(Access.PROBE)
    def readyz() -> Response:
        """Whether turns are taken: 200, or 503 while starting and draining."""
        ready = bool(runtime.status()["ready"]) and not connections.draining
        reason = None if ready else ("draining" if connections.draining else "not running")
        response = jsonify({"ready": ready} if ready else {"ready": ready, "reason": reason})
        response.status_code = 200 if ready else 503
        return _fresh(response)

    if metrics:

        @blueprint.get("/metrics")
        @access(Access.EITHER)
        def show_metrics() -> Response:
            """All numbers, for Prometheus."""
            text = _exposition(_metrics(runtime, connections, monitor, guards))
            return _fresh(Response(text, content_type=METRICS_TYPE))

    return blueprint


def _fresh(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


def _metrics(
    runtime: Runtime, connections: Connections, monitor: HubReport, guards: Guards
) -> Iterator[tuple[str, str, str, float]]:
    """Name, type, help and value of each metric."""
    status = runtime.status()
    hub = monitor.report()
    yield "mead_ready", "gauge", "Whether turns are taken.", status["ready"]
    yield "mead_sessions", "gauge", "Conversations in memory.", status["sessions"]
    yield "mead_turns", "gauge", "Turns that run.", status["turns"]
    yield "mead_draining", "gauge", "Whether the worker is leaving.", connections.draining
    yield "mead_connections", "gauge", "Open connections.", connections.open
    yield "mead_connections_limit", "gauge", "Connections there may be.", connections.limit
    yield (
        "mead_connections_refused_total",
        "counter",
        "Connections that found no room.",
        connections.refused,
    )
    yield "mead_wrong_tokens_total", "counter", "Wrong bearer tokens.", guards.wrong.total
    yield (
        "mead_hub_late_seconds",
        "gauge",
        "How late the hub was at its last beat.",
        hub["late_ms"] / 1000,
    )
    yield (
        "mead_hub_late_max_seconds",
        "gauge",
        "The worst of the last minute.",
        hub["late_max_ms"] / 1000,
    )
    yield "mead_hub_held_total", "counter", "How often it was held over 250 ms.", hub["held"]
    yield from _process()


def _process() -> Iterator[tuple[str, str, str, float]]:
    """What Prometheus' own clients tell of their process, where the system says it."""
    used = os.times()
    seconds = used.user + used.system
    yield "process_cpu_seconds_total", "counter", "Processor time of the worker.", seconds
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident = pages * os.sysconf("SC_PAGE_SIZE")
        yield "process_resident_memory_bytes", "gauge", "Memory of the worker.", resident
        handles = sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1
        yield "process_open_fds", "gauge", "Open files and sockets of the worker.", handles


def _exposition(metrics: Iterator[tuple[str, str, str, float]]) -> str:
    """The Prometheus text format."""
    return "".join(
        f"# HELP {name} {text}\n# TYPE {name} {kind}\n{name} {_number(value)}\n"
        for name, kind, text, value in metrics
    )


def _number(value: float) -> str:
    """All its digits: a counter of millions that is rounded seems to stand still."""
    return str(int(value)) if value == int(value) else repr(float(value))
