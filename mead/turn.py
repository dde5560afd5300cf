"""A turn: one prompt and its answer, as it is kept, stored and shown.  Source: SPEC section 3."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from time import gmtime, strftime, time_ns
from typing import Any, Final, Literal, Self

Route = Literal["local", "cloud"]
RequestedRoute = Literal["auto", "local", "cloud"]
RouteSource = Literal["classified", "forced", "default"]
ToolLevel = Literal["effect"]
"""The turn option `tools`: absent shows read tools alone, `effect` shows both classes."""


class TurnStatus(StrEnum):
    """How far a turn is; everything but `running` is final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or several model calls; a part is None when the provider did not say."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None

    def encode(self) -> dict[str, int | None]:
        """The counts as JSON values.  (`dataclasses.asdict` takes ten times as long.)"""
        return {
            "input": self.input,
            "output": self.output,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
        }

    def __add__(self, other: "Usage") -> "Usage":
        """The sum, part by part; unknown plus known is the known part."""
        return Usage(
            input=_plus(self.input, other.input),
            output=_plus(self.output, other.output),
            cache_read=_plus(self.cache_read, other.cache_read),
            cache_write=_plus(self.cache_write, other.cache_write),
        )


def _plus(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """What a handler learns about a turn while it runs; kept on the turn however the turn ends."""

    route: Route | None = None
    route_source: RouteSource | None = None
    route_reason: str | None = None
    provider: str | None = None
    model: str | None = None
    host: str | None = None
    """`address:port` that was contacted; None while no network was used."""
    usage: Usage | None = None
    tool_calls: int = 0
    stop_reason: str | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def decode(cls, shape: Mapping[str, Any]) -> Self:
        """The facts among the values of `shape`; what it lacks keeps its default."""
        known: dict[str, Any] = {name: shape[name] for name in _FACTS if name in shape}
        usage = known.get("usage")
        known["usage"] = None if usage is None else Usage(**usage)
        known["warnings"] = tuple(known.get("warnings", ()))
        return cls(**known)


_FACTS: Final = tuple(field.name for field in fields(TurnFacts))

NO_FACTS: Final = TurnFacts()
"""What is known of a turn that has not been routed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFault:
    """Why a turn has no answer: a code of SPEC section 3 and a sentence for a person."""

    code: str
    message: str

    def encode(self) -> dict[str, str]:
        """The fault as JSON values."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt and its answer.  Immutable: `closed` makes the ended turn from the running one."""

    id: str
    input: str
    started_at: datetime
    status: TurnStatus = TurnStatus.RUNNING
    output: str | None = None
    error: TurnFault | None = None
    finished_at: datetime | None = None
    facts: TurnFacts = NO_FACTS
    durable: bool = False
    """Whether the turn's ending is known to be in the store."""

    def closed(
        self,
        status: TurnStatus,
        *,
        output: str | None = None,
        error: TurnFault | None = None,
        facts: TurnFacts | None = None,
        durable: bool = False,
    ) -> "Turn":
        """This turn, ended now.  (Spelled out: `dataclasses.replace` takes twice as long.)"""
        return Turn(
            id=self.id,
            input=self.input,
            started_at=self.started_at,
            status=status,
            output=output,
            error=error,
            finished_at=utc_now(),
            facts=self.facts if facts is None else facts,
            durable=durable,
        )

    def with_durable(self, durable: bool) -> "Turn":
        """This turn, with its ending known to be in the store, or not."""
        return Turn(
            id=self.id,
            input=self.input,
            started_at=self.started_at,
            status=self.status,
            output=self.output,
            error=self.error,
            finished_at=self.finished_at,
            facts=self.facts,
            durable=durable,
        )

    def interrupted(self) -> "Turn":
        """This turn after its server died: nobody knows how it would have ended."""
        return self.closed(
            TurnStatus.INTERRUPTED,
            error=TurnFault(code="interrupted", message="the server stopped while answering"),
        )

    def encode(self) -> dict[str, Any]:
        """The turn as JSON values, one flat object with every field of SPEC section 3."""
        shape: dict[str, Any] = {
            "id": self.id,
            "input": self.input,
            "output": self.output,
            "status": self.status.value,
            "error": None if self.error is None else self.error.encode(),
            "started_at": iso_ms(self.started_at),
            "finished_at": None if self.finished_at is None else iso_ms(self.finished_at),
            "durable": self.durable,
        }
        for name in _FACTS:
            shape[name] = getattr(self.facts, name)
        if self.facts.usage is not None:
            shape["usage"] = self.facts.usage.encode()
        shape["warnings"] = list(self.facts.warnings)
        return shape

    @classmethod
    def decode(cls, shape: Mapping[str, Any]) -> Self:
        """The turn that `encode` wrote.  Another shape: KeyError, TypeError or ValueError."""
        error = shape.get("error")
        finished = shape.get("finished_at")
        return cls(
            id=shape["id"],
            input=shape["input"],
            output=shape.get("output"),
            status=TurnStatus(shape["status"]),
            error=None if error is None else TurnFault(**error),
            started_at=datetime.fromisoformat(shape["started_at"]),
            finished_at=None if finished is None else datetime.fromisoformat(finished),
            durable=bool(shape.get("durable", False)),
            facts=TurnFacts.decode(shape),
        )


def utc_now() -> datetime:
    """The time now, UTC, cut to whole milliseconds (so that it survives encode and decode)."""
    return datetime.fromtimestamp(time_ns() // 1_000_000 / 1000, UTC)


def iso_ms(moment: datetime) -> str:
    """`2026-11-30T14:00:00.123Z`: how every time travels.  `moment` is UTC."""
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def iso_now() -> str:
    """The time now as `iso_ms` writes it; for what happens a thousand times a second."""
    seconds, ms = divmod(time_ns() // 1_000_000, 1000)
    return f"{_iso_seconds(seconds)}.{ms:03d}Z"


@lru_cache(maxsize=2)
def _iso_seconds(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
