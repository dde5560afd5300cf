"""The hub: one connection per configured server, and the tools that a turn may see and run.

    Hub (one_for_one)
    +-- tasks              what waits for a server
    +-- connection NAME    one for each entry of mcp.servers

`tools_for` and `call_tool` run in the caller's greenlet and never wait for a connection's mailbox;
they read the catalog.  A server that is dead or misconfigured costs its own tools alone.
Source: seed A6, SPEC section 7.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from mead.actors.actor import ActorRef
from mead.actors.exits import ActorDied, CallTimeout
from mead.actors.green import BoundedSemaphore
from mead.actors.supervisor import ChildSpec, Supervisor
from mead.actors.tasks import TaskSupervisor, wait_all
from mead.config import ServerSettings
from mead.mcp.client.calling import call
from mead.mcp.client.catalog import Catalog, Line
from mead.mcp.client.connection import BACKOFF_MS, Connection, Renew, State
from mead.mcp.client.deadline import Deadline
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.http import HttpTransport
from mead.mcp.client.offers import Offer
from mead.mcp.client.policy import Grant, Policy, full_name
from mead.mcp.client.results import error_outcome
from mead.mcp.client.stdio_transport import StdioTransport
from mead.mcp.client.transport import Transport
from mead.protocols import Tool, ToolOutcome
from mead.turn import ToolLevel

log = logging.getLogger(__name__)

MAX_RESTARTS: Final = 20
MAX_SECONDS: Final = 5.0
"""Only a bug ends a connection's actor; a server never does."""

STOP_MS: Final = 10_000

STARTS_AT_ONCE: Final = 2
"""Making a process holds the event loop for some milliseconds, and twenty that start up together
take the processor from everyone else."""

_SENT_AGAIN: Final = frozenset({"unknown_session", "unreachable"})
"""Faults after which the server has certainly not run the call."""

_NO_TOOL: Final = ToolOutcome(text="There is no such tool.", is_error=True)
_NOT_ALLOWED: Final = ToolOutcome(
    text="This tool has side effects, and this turn may not use such tools.", is_error=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """How a configured server does."""

    name: str
    transport: str
    state: State
    settled: bool
    """Whether an attempt to connect has ended, one way or the other."""
    fault: str | None
    """Why it is not connected."""
    revision: str | None
    server: str | None
    """Its own name and version."""
    granted: tuple[Tool, ...]
    """Tools that the configuration lists and the server offers."""
    missing: tuple[str, ...]
    """Tools that the configuration lists and the connected server does not offer."""
    not_granted: tuple[tuple[str, str], ...]
    """Name and description of what else it offers; no model sees these."""


class Hub(Supervisor):
    """See the module.  Implements mead.protocols.ToolHub."""

    def __init__(
        self, servers: Sequence[ServerSettings], *, backoff_ms: Sequence[int] = BACKOFF_MS
    ) -> None:
        """Raises ConfigurationError."""
        self._servers = {server.name: server for server in servers}
        self._policy = Policy(servers)
        self._catalog = Catalog()
        self._shown: dict[ToolLevel | None, tuple[int, tuple[Tool, ...]]] = {}
        self._connections: dict[str, Connection] = {}
        self._backoff_ms = backoff_ms
        self._starts = BoundedSemaphore(STARTS_AT_ONCE)
        specs = [ChildSpec(id="tasks", start=lambda: TaskSupervisor("hub tasks"))]
        specs += [
            ChildSpec(
                id=f"connection {server.name}",
                start=partial(self._start_connection, server),
                shutdown_ms=STOP_MS,
            )
            for server in servers
        ]
        super().__init__(
            "hub",
            specs,
            strategy="one_for_one",
            max_restarts=MAX_RESTARTS,
            max_seconds=MAX_SECONDS,
        )

    # -- lifetime ----------------------------------------------------------------------------------

    def _start_connection(self, server: ServerSettings) -> ActorRef:
        connection = Connection(
            server,
            catalog=self._catalog,
            tasks=self._tasks,
            make_transport=self._make_transport,
            backoff_ms=self._backoff_ms,
        )
        self._connections[server.name] = connection
        return connection.start()

    def _make_transport(self, server: ServerSettings, tasks: TaskSupervisor) -> Transport:
        if server.transport == "stdio":
            return StdioTransport(server, tasks, self._starts)
        return HttpTransport(server, tasks)

    @property
    def _tasks(self) -> TaskSupervisor:
        return cast("TaskSupervisor", self.child("tasks"))

    def start(self) -> "Hub":
        """Begin to connect.  Blocks on: nothing; no server delays the boot."""
        super().start()
        return self

    def stop(self, timeout_ms: float | None = None) -> None:
        """End every connection, all at the same time: a server may take seconds to leave."""
        self._stopping = True
        tasks = self.child("tasks")
        if isinstance(tasks, TaskSupervisor):
            stops = [
                tasks.start(partial(connection.ref.stop, STOP_MS), name=f"stop {name}")
                for name, connection in self._connections.items()
            ]
            wait_all(stops, STOP_MS)
        super().stop(timeout_ms)

    # -- ToolHub -----------------------------------------------------------------------------------

    def tools_for(self, level: ToolLevel | None) -> tuple[Tool, ...]:
        """See ToolHub: in the order of the configuration."""
        self._catalog.refresh_stale()
        known = self._shown.get(level)
        if known is not None and known[0] == self._catalog.version:
            return known[1]
        tools = tuple(
            tool
            for grant in self._policy.grants.values()
            if grant.visible(level) and (tool := self._tool(grant)) is not None
        )
        self._shown[level] = (self._catalog.version, tools)
        return tools

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], level: ToolLevel | None
    ) -> ToolOutcome:
        """See ToolHub."""
        grant = self._policy.grants.get(name)
        if grant is None:
            return _NO_TOOL
        if not grant.visible(level):
            return _NOT_ALLOWED
        try:
            return self._call(grant, arguments)
        except ServerFault as fault:
            log.info("%s: %s", name, fault.code)
            return error_outcome(fault)

    def _call(self, grant: Grant, arguments: Mapping[str, Any]) -> ToolOutcome:
        deadline = Deadline(self._servers[grant.server].call_timeout_ms)
        line = self._line(grant)
        try:
            return call(line, grant.tool, arguments, deadline)
        except ServerFault as fault:
            if fault.code not in _SENT_AGAIN or not self._renewed(grant.server, line, deadline):
                raise
        return call(self._line(grant), grant.tool, arguments, deadline)

    def _renewed(self, server: str, line: Line, deadline: Deadline) -> bool:
        try:
            return bool(self._connections[server].ref.call(Renew(line.peer), deadline.left_ms()))
        except (ActorDied, CallTimeout):
            return False

    def _line(self, grant: Grant) -> Line:
        """Raises ServerFault."""
        line = self._catalog.line(grant.server)
        if line is None:
            raise ServerFault("not_connected", f"the tool server {grant.server} is not connected")
        if grant.tool not in line.offers:
            raise ServerFault("not_connected", f"{grant.server} does not offer this tool now")
        return line

    def _tool(self, grant: Grant) -> Tool | None:
        line = self._catalog.line(grant.server)
        offer = None if line is None else line.offers.get(grant.tool)
        if offer is None:
            return None
        return Tool(
            name=grant.name,
            server=grant.server,
            tool=grant.tool,
            kind=grant.kind,
            description=offer.description,
            schema=offer.schema,
        )

    # -- for commands ------------------------------------------------------------------------------

    def status(self) -> tuple[ServerStatus, ...]:
        """How every configured server does, now."""
        return tuple(self._status(server) for server in self._servers.values())

    def _status(self, server: ServerSettings) -> ServerStatus:
        connection = self._connections.get(server.name)
        line = self._catalog.line(server.name)
        offers: Mapping[str, Offer] = {} if line is None else line.offers
        grants = [self._policy.grants[full_name(server.name, tool)] for tool in server.tools]
        tools = [tool for grant in grants if (tool := self._tool(grant)) is not None]
        missing = [] if line is None else [one.tool for one in grants if one.tool not in offers]
        agreement = None if connection is None else connection.agreement
        fault = None if connection is None else connection.fault
        return ServerStatus(
            name=server.name,
            transport=server.transport,
            state="connecting" if connection is None else connection.state,
            settled=connection is not None and connection.settled,
            fault=None if fault is None else str(fault),
            revision=None if agreement is None else agreement.version,
            server=None if agreement is None else agreement.server,
            granted=tuple(tools),
            missing=tuple(missing),
            not_granted=tuple(
                (name, offer.description)
                for name, offer in offers.items()
                if name not in server.tools
            ),
        )
