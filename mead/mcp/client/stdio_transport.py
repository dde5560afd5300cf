"""MCP over a child's standard streams: one JSON object a line."""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from mead.actors.exits import Outcome
from mead.actors.green import BoundedSemaphore
from mead.actors.tasks import Task, TaskSupervisor, kill_all
from mead.config import ServerSettings
from mead.mcp.client.command import Command, environment
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.lines import LineBuffer, Oversize
from mead.mcp.client.stderr_log import StderrLog
from mead.mcp.client.stdio import Child
from mead.mcp.client.transport import NO_HEADERS, Sink
from mead.mcp.client.versions import batch_limit
from mead.mcp.jsonrpc import (
    Id,
    Malformed,
    Message,
    Notification,
    NotJson,
    Request,
    decode_each,
    encode,
)

log = logging.getLogger(__name__)

_NOISE_SHOWN: Final = 3
"""Lines that are no JSON-RPC are logged so often, then only counted."""

_TASKS_END_MS: Final = 1000
_STATUS_MS: Final = 200


class StdioTransport:
    """See Transport."""

    def __init__(
        self, settings: ServerSettings, tasks: TaskSupervisor, starts: BoundedSemaphore
    ) -> None:
        """`starts` is held while a process is made."""
        self._name = settings.name
        given = {name: secret.reveal() for name, secret in settings.environment.items()}
        self._command = Command(
            command=settings.command or "",
            arguments=settings.arguments,
            environment=environment(os.environ, given),
            directory=settings.directory,
        )
        self._secrets = tuple(given.values())
        self._tasks = tasks
        self._starts = starts
        self._running: list[Task[None]] = []
        self._draining: Task[None] | None = None
        self._child: Child | None = None
        self._sink: Sink | None = None
        self._closed = False
        self._batch_limit = batch_limit(None)
        self.noise = 0
        """Lines on stdout that were no JSON-RPC."""

    @property
    def pid(self) -> int | None:
        """The launcher's process id, while there is one."""
        return None if self._child is None else self._child.pid

    def open(self, sink: Sink) -> None:
        """See Transport."""
        self._sink = sink
        with self._starts:
            child = Child(self._command)
        if self._closed:  # while the launcher started
            child.release()
            raise ServerFault("connection_lost", "the connection was closed")
        self._child = child
        child.stdout.feed(partial(self._feed, child, sink, LineBuffer()))
        self._run("stderr", lambda: self._drain_stderr(child))
        self._run("launcher", child.listen)

    def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """See Transport."""
        del headers
        child = self._child
        if child is None or self._closed:
            raise ServerFault("connection_lost", "the connection is closed")
        try:
            line = encode(message) + b"\n"
        except NotJson:
            raise ServerFault("not_json", "the arguments cannot be written as JSON") from None
        try:
            kept = child.write(line)
        except ServerFault as fault:
            if not isinstance(message, Request):  # perhaps in the hub, which must not wait
                raise
            raise ServerFault(fault.code, _how_it_ended(child, fault.sentence)) from None
        if kept:
            self._draining = self._run("stdin", child.drain)

    def abandon(self, request_id: Id, *, cancel: bool) -> None:
        """See Transport."""
        if not cancel:
            return
        with suppress(ServerFault):  # a server that cannot be told has lost the request anyway
            self.send(Notification("notifications/cancelled", {"requestId": request_id}))

    def agree(self, version: str | None) -> None:
        """See Transport: the lines of both eras look alike, but for the arrays of the oldest."""
        self._batch_limit = batch_limit(version)

    def close(self) -> None:
        """See Transport."""
        child = self._child
        if self._closed or child is None:
            self._closed = True
            if child is not None:
                child.wait_gone(_TASKS_END_MS)
            return
        self._closed = True
        try:
            if self._draining is not None:
                kill_all([self._draining], _TASKS_END_MS)
            child.stop()
        finally:
            kill_all(self._running, _TASKS_END_MS)
            child.release()
        if not child.wait_gone(_TASKS_END_MS):
            log.error("%s: the server could not be ended; its launcher goes on trying", self._name)

    # -- tasks -------------------------------------------------------------------------------------

    def _run(self, stream: str, work: Callable[[], None]) -> Task[None]:
        def ended(outcome: Outcome[None]) -> None:
            self._running.remove(task)
            if isinstance(outcome.error, Exception):
                self._broken(outcome.error)

        task = self._tasks.start(work, name=f"{self._name} {stream}", on_end=ended)
        self._running.append(task)
        return task

    def _broken(self, error: Exception) -> None:
        """Runs in the hub."""
        if not isinstance(error, ServerFault):
            log.error("%s: reading failed: %s", self._name, type(error).__name__)
            error = ServerFault("connection_lost", "reading from the server failed")
        if self._sink is not None:
            self._sink.closed(error)

    def _feed(self, child: Child, sink: Sink, buffer: LineBuffer, data: bytes) -> None:
        """Runs in the hub: what came out of standard output; nothing at its end."""
        try:
            for line in buffer.feed(data):
                if isinstance(line, Oversize):
                    self._oversize(line, sink)
                elif line and not line.isspace():
                    self._received(line, sink)
        except Exception as error:  # noqa: BLE001 - the hub goes on, the connection does not
            self._broken(error)
        if not data:
            self._run("end", lambda: self._conclude(child))

    def _conclude(self, child: Child) -> None:
        closed = "the server closed its standard output"
        raise ServerFault("connection_lost", _how_it_ended(child, closed))

    def _received(self, line: bytes, sink: Sink) -> None:
        try:
            messages = decode_each(line, self._batch_limit)
        except Malformed:
            self._noisy("a line that is no JSON-RPC message")
            return
        for message in messages:
            sink.received(message)

    def _oversize(self, line: Oversize, sink: Sink) -> None:
        self._noisy("a line that is too long")
        if line.request_id is not None:
            fault = ServerFault("response_too_large", "the answer is larger than Mead takes")
            sink.failed(line.request_id, fault)

    def _noisy(self, what: str) -> None:
        self.noise += 1
        if self.noise <= _NOISE_SHOWN:
            log.warning("%s: %s on its standard output was skipped", self._name, what)

    def _drain_stderr(self, child: Child) -> None:
        shown = StderrLog(self._name, self._secrets)
        for data in child.read(child.stderr):
            shown.feed(data)


def _how_it_ended(child: Child, otherwise: str) -> str:
    child.ended.wait(_STATUS_MS / 1000)  # the exit status follows the last output closely
    status = child.exit_status
    if status is None:
        return otherwise
    return f"the server ended (exit status {status})"
