"""The frames that a deck's client may send, and the ways in which one can be refused.  Pure.

`mead.deck.protocol` makes them of text.  Source: SPEC section 8, "Frames".
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

from mead.config.settings import PolicyLevel
from mead.turn import RequestedRoute

PermissionAnswer = Literal["allow_once", "allow_always", "reject_once"]
FaultReason = Literal[
    "binary",
    "too_large",
    "not_json",
    "not_an_object",
    "unknown_type",
    "invalid_payload",
    "not_resumed",
    "already_resumed",
    "unknown_id",
    "already_started",
    "already_finished",
    "unknown_option",
    "unknown_tool",
    "extended_too_often",
    "log_full",
]
"""Why a frame is ignored.  The first six count towards the limit of such frames a minute."""

COUNTED: Final = frozenset(get_args(FaultReason)[:6])

PromptFaultReason = Literal["queue_full", "too_long", "empty", "invalid_route"]


class FrameFault(Exception):
    """A frame that is ignored; the client gets `frame.rejected`."""

    def __init__(
        self, reason: FaultReason, type_: str | None = None, id_: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason: FaultReason = reason
        self.type = type_
        self.id = id_

    @property
    def counts(self) -> bool:
        """Whether it is one of those of which a client may send only so many."""
        return self.reason in COUNTED


class PromptFault(Exception):
    """A prompt that is refused; the client gets `prompt.rejected`."""

    def __init__(
        self, client_message_id: str, reason: PromptFaultReason, *, counts: bool = False
    ) -> None:
        super().__init__(reason)
        self.client_message_id = client_message_id
        self.reason: PromptFaultReason = reason
        self.counts = counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """`session.resume`: the first frame of a socket."""

    type: ClassVar[str] = "session.resume"
    last_sequence: int
    log_id: str | None
    device_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPrompt:
    """`prompt.send`."""

    type: ClassVar[str] = "prompt.send"
    client_message_id: str
    text: str
    route: RequestedRoute | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelPrompt:
    """`prompt.cancel`: take a prompt out of the queue."""

    type: ClassVar[str] = "prompt.cancel"
    client_message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTurn:
    """`turn.cancel`."""

    type: ClassVar[str] = "turn.cancel"
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelToolCall:
    """`tool_call.cancel`."""

    type: ClassVar[str] = "tool_call.cancel"
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RespondPermission:
    """`permission.respond`."""

    type: ClassVar[str] = "permission.respond"
    request_id: str
    answer: PermissionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendRequest:
    """`request.extend`: a permission or a choice gets more time."""

    type: ClassVar[str] = "request.extend"
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPermission:
    """`permission.forget`: take an `allow_always` back."""

    type: ClassVar[str] = "permission.forget"
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RespondChoice:
    """`choice.respond`."""

    type: ClassVar[str] = "choice.respond"
    request_id: str
    option: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPolicy:
    """`policy.set`."""

    type: ClassVar[str] = "policy.set"
    level: PolicyLevel


ClientFrame = (
    Resume
    | SendPrompt
    | CancelPrompt
    | CancelTurn
    | CancelToolCall
    | RespondPermission
    | ExtendRequest
    | ForgetPermission
    | RespondChoice
    | SetPolicy
)
