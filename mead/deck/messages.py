"""What a channel is told, and by whom."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mead.actors.exits import Exit, Outcome
from mead.deck.feed import Feed
from mead.deck.frames import ClientFrame, FrameFault, PromptFault, Resume
from mead.errors import MeadError
from mead.protocols import CallStatus, Origin, ToolUse
from mead.protocols.faces import TurnReceipt
from mead.protocols.sockets import FrameSocket
from mead.turn import RequestedRoute, ToolLevel, Turn, TurnFacts

# -- from sockets ----------------------------------------------------------------------------------


class Attach(NamedTuple):
    """A call: subscribe a socket and send it the snapshot.  Answers its Feed.

    None means that the channel is about to end: try again with the next one.
    """

    socket: FrameSocket
    resume: Resume


class Detach(NamedTuple):
    """A cast: a socket has gone."""

    feed: Feed


class Said(NamedTuple):
    """A call: a device sent a frame.  Answers what the device is told: see Answer."""

    feed: Feed
    frame: ClientFrame


Answer = Sequence[int] | FrameFault | PromptFault | None
"""The sequences of events that a device is to be sent again, or why its frame is ignored; None
from a channel that is about to end."""


# -- from other doors ------------------------------------------------------------------------------


class Door(NamedTuple):
    """A call: run a turn of another door.  Answers its TurnReceipt; raises as `Mead.submit`."""

    turn_id: str
    text: str
    route: RequestedRoute | None
    tools: ToolLevel | None
    on_text: Callable[[str], None] | None
    origin: Origin


class CancelQueued(NamedTuple):
    """A call: take a turn out of the queue; whether it was there."""

    turn_id: str


class MadeElsewhere(NamedTuple):
    """A cast: a turn has ended, or was refused, that may not have come through this channel."""

    turn_id: str
    origin: Origin


class Retitle(NamedTuple):
    """A call: the conversation was named."""

    title: str
    device_id: str | None


# -- from the running turn -------------------------------------------------------------------------


class Routed(NamedTuple):
    """A cast."""

    turn_id: str
    facts: TurnFacts


class Grew(NamedTuple):
    """A cast: there is text to take."""

    turn_id: str


class Authorize(NamedTuple):
    """A call: whether a tool call may run.  The arguments of `use` are cut already."""

    turn_id: str
    use: ToolUse
    cancel: Callable[[], None]


class Choose(NamedTuple):
    """A call: the option that a person chose, or None."""

    turn_id: str
    prompt: str
    options: tuple[str, ...]


class AskerGone(NamedTuple):
    """A cast: whoever waited for the answer to `asked` was killed."""

    asked: Any


class CallFinished(NamedTuple):
    """A cast.  `summary` is cut already."""

    turn_id: str
    call_id: str
    status: CallStatus
    summary: str


class Played(NamedTuple):
    """How a turn went: the closed turn, and what its submitter is given or told."""

    turn: Turn | None
    result: TurnReceipt | MeadError


class TurnEnded(NamedTuple):
    """A cast."""

    turn_id: str
    outcome: Outcome[Played]


# -- from timers and from the tree -----------------------------------------------------------------


class Begin(NamedTuple):
    """A cast: the channel serves; prompts that were left in the queue may run."""


class Flush(NamedTuple):
    """A cast: the joining window of deltas is over."""

    turn_id: str


class Expire(NamedTuple):
    """A cast: nobody answered a request in time."""

    request_id: str


class IdleEnd(NamedTuple):
    """A cast: nobody has been here for a while."""

    number: int


class SessionEnded(NamedTuple):
    """A cast: the conversation does not run any more."""

    exit: Exit


class GiveUpWaiting(NamedTuple):
    """A cast: the running turn of an ended session has not ended in time."""


class Deleting(NamedTuple):
    """A cast: the session is about to be stopped and deleted."""


class LetGo(NamedTuple):
    """A call: its files are about to be removed; answered once nothing is written to them."""


class Deleted(NamedTuple):
    """A cast: the deletion has ended."""

    is_removed: bool


class Drain(NamedTuple):
    """A cast: the server is about to stop."""
