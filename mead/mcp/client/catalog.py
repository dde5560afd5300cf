"""What every connected server offers now: connections write it, turns read it without waiting."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mead.mcp.client.offers import Offer
from mead.mcp.client.peer import Peer


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A server that can be called."""

    peer: Peer
    offers: Mapping[str, Offer]
    stale_at: float | None = None
    """When the list should be read again, in `time.monotonic` seconds; None: when told to."""
    refresh: Callable[[], None] = field(repr=False)
    """Asks the connection to read the list again; returns at once."""


class Catalog:
    """The lines by server name."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self.version = 0
        """Grows with every change, so that what was computed from the lines can be kept."""

    def publish(self, server: str, line: Line) -> None:
        """The server can be called, and offers this."""
        self._lines[server] = line
        self.version += 1

    def withdraw(self, server: str) -> None:
        """The server cannot be called."""
        if self._lines.pop(server, None) is not None:
            self.version += 1

    def line(self, server: str) -> Line | None:
        """The line to that server, if there is one now."""
        return self._lines.get(server)

    def refresh_stale(self) -> None:
        """Have every list read again whose time has run out."""
        now = time.monotonic()
        for line in self._lines.values():
            if line.stale_at is not None and now >= line.stale_at:
                line.refresh()
