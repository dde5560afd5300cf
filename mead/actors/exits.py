"""How a greenlet ended, and what its callers are told.  No gevent here, only the words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of an actor or supervisor: `normal` (asked to stop), `killed` or `crashed`."""

    kind: Literal["normal", "killed", "crashed"]
    error: BaseException | None = None

    @property
    def cause(self) -> str:
        """One word for a log line: the exception's class, else the kind; never its text."""
        return self.kind if self.error is None else type(self.error).__name__


NORMAL = Exit("normal")
KILLED = Exit("killed")


class Outcome(NamedTuple, Generic[Value]):
    """A task's result as a value, so that a failed task cannot kill the one who waits for it."""

    value: Value | None = None
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether the task returned."""
        return self.error is None


class ActorDied(Exception):
    """The actor ended before it answered, or had ended when it was asked."""

    def __init__(self, name: str, exit_: Exit, *, unread: bool = False) -> None:
        super().__init__(f"{name} ended ({exit_.cause})")
        self.exit = exit_
        self.unread = unread
        """Whether the message was certainly never looked at, so that it may be sent again."""


class CallTimeout(Exception):
    """The actor lives but did not answer in time; the message may still be handled."""


class MailboxFull(Exception):
    """The actor has as many unread messages as its mailbox holds."""


class Child(Protocol):
    """What a supervisor needs of the things it starts; actors and supervisors both are children."""

    @property
    def alive(self) -> bool: ...

    def stop(self, timeout_ms: float = ...) -> None:
        """End it in order; after `timeout_ms` by force.  Blocks until it has ended."""
        ...

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        """Have `callback(exit)` called once when it ends, at once if it has."""
        ...


class Lifetime:
    """Being alive once, and telling the watchers when that ends: what all children share."""

    __slots__ = ("_ended", "_watchers")

    def __init__(self) -> None:
        self._ended: Exit | None = None
        self._watchers: tuple[Callable[[Exit], Any], ...] = ()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._ended is None

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        """See Child.on_end."""
        if self._ended is not None:
            callback(self._ended)
        else:
            self._watchers = (*self._watchers, callback)

    def _finish(self, exit_: Exit) -> None:
        """End, and tell the watchers; only the first end counts."""
        if self._ended is not None:
            return
        self._ended = exit_
        watchers, self._watchers = self._watchers, ()
        for callback in watchers:
            callback(exit_)
