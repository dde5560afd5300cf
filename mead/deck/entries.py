"""What the state of a deck holds.  Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mead.protocols import Origin
from mead.turn import RequestedRoute


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt that waits or runs."""

    client_message_id: str
    turn_id: str
    text: str
    route: RequestedRoute | None
    origin: Origin
    accepted_at: str
    payload: Mapping[str, Any]
    """As it was announced."""


@dataclass(slots=True, kw_only=True)
class RunningTurn:
    """The turn that runs, or that ran when the log ends."""

    prompt: Prompt
    started_at: str
    open_calls: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """The payload of each tool card that is not closed, by call_id."""
    closed_calls: set[str] = field(default_factory=set[str])
    text: list[str] = field(default_factory=list[str])
    """What was shown of the answer."""
    is_over: bool = False
    """Whether its ending is logged; the metrics may be missing."""
    metrics: set[str] = field(default_factory=set[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A permission or a choice that waits for a person."""

    kind: Literal["permission", "choice"]
    payload: Mapping[str, Any]
    """As it was announced, with the time at which it expires by now."""
    extensions: int = 0

    @property
    def call_id(self) -> str | None:
        """The call that a permission is about."""
        return self.payload.get("call_id")


@dataclass(slots=True)
class Known:
    """A client_message_id that was seen, and where in the log its prompt's events are."""

    turn_id: str
    accepted: int
    ending: int | None = None
    is_started: bool = False
