"""Every error of Mead's public API: one tree, each class with the `code` that goes on the wire.

    MeadError
    +-- ConfigurationError      configuration      the boot is refused; one line per fault
    +-- NotPatched              not_patched        Mead.start() in a process gevent has not patched
    +-- StorageLocked           storage_locked     another process holds the storage directory
    +-- SessionNotFound         not_found
    +-- AlreadyRunning          already_running
    +-- TooManySessions         max_children
    +-- Busy                    busy               ten turns wait already
    +-- InvalidInput            invalid_input      an argument of the wrong type, size or shape
    |   +-- InvalidRoute        invalid_route
    |   +-- InvalidInteraction  invalid_interaction
    +-- SessionStopped          session_stopped
    +-- SessionCrashed          session_crashed
    +-- CorruptHistory          corrupt_history
    +-- PersistenceError        persistence
    +-- LedgerUnavailable       ledger_unavailable
    +-- TurnError               how a turn ended without an answer
        +-- TurnFailed          failed             `.reason` says why
        +-- TurnTimeout         timeout
        +-- TurnCancelled       cancelled

A message is written for the person who reads it: what happened and what to do. It never holds a
secret, a prompt, a model's words or a traceback.  Source: SPEC section 3.
"""

from collections.abc import Sequence
from typing import ClassVar, Final


class MeadError(Exception):
    """Base of all errors that Mead raises on purpose."""

    code: ClassVar[str] = "error"
    default_message: ClassVar[str] = "something went wrong"

    def __init__(self, message: str | None = None) -> None:
        self.message = message if message is not None else self.default_message
        super().__init__(self.message)


class ConfigurationError(MeadError):
    """The settings are not usable; `faults` holds one line for each fault found."""

    code = "configuration"
    default_message = "the configuration is not valid"

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults: tuple[str, ...] = tuple(faults)
        super().__init__("\n".join(self.faults))


class NotPatched(MeadError):
    """`Mead.start()` was called in a process whose standard library gevent has not patched."""

    code = "not_patched"
    default_message = (
        "Mead runs on gevent: put `from gevent import monkey; monkey.patch_all()` on the first"
        " line of your program, before any other import"
    )


class StorageLocked(MeadError):
    """Another process holds the storage directory."""

    code = "storage_locked"
    default_message = "the storage directory is in use by another process"


class SessionNotFound(MeadError):
    """No session has that id (or it is not the shape of an id)."""

    code = "not_found"
    default_message = "there is no session with that id"


class AlreadyRunning(MeadError):
    """The session to resume is running."""

    code = "already_running"
    default_message = "that session is already running"


class TooManySessions(MeadError):
    """`runtime.maximum_sessions` sessions run already."""

    code = "max_children"
    default_message = "the session could not be started: the limit of sessions is reached"


class Busy(MeadError):
    """As many turns wait for this session as may wait."""

    code = "busy"
    default_message = "ten turns wait for this session already; try again when one has ended"


class InvalidInput(MeadError):
    """An argument has the wrong type, size or shape; nothing was recorded."""

    code = "invalid_input"
    default_message = "an argument is not valid"


class InvalidRoute(InvalidInput):
    """The route is none of auto, local and cloud; nothing was recorded."""

    code = "invalid_route"
    default_message = "the route must be one of auto, local, cloud"


class InvalidInteraction(InvalidInput):
    """The interaction lacks a method of `mead.protocols.Interaction`; nothing was recorded."""

    code = "invalid_interaction"
    default_message = "the interaction must implement mead.protocols.Interaction"


class SessionStopped(MeadError):
    """The session was stopped while the turn ran or waited."""

    code = "session_stopped"
    default_message = "the session was stopped"


class SessionCrashed(MeadError):
    """The session's server died while the turn ran or waited."""

    code = "session_crashed"
    default_message = "the session crashed; its turns so far are kept"


class CorruptHistory(MeadError):
    """A stored conversation is damaged somewhere other than at its end; its file is untouched."""

    code = "corrupt_history"
    default_message = "the stored conversation is damaged; see `flask mead sessions repair`"


class PersistenceError(MeadError):
    """The disk refused; what was asked did not happen, and what was stored before is intact."""

    code = "persistence"
    default_message = "the conversation could not be written to disk"


class LedgerUnavailable(MeadError):
    """The ledger is not running."""

    code = "ledger_unavailable"
    default_message = "the usage ledger is not running"


class TurnError(MeadError):
    """A turn ended without an answer; the session lives on.  Source: seed A3."""

    code = "failed"

    @property
    def turn_code(self) -> str:
        """The code that the closed turn carries: the reason of a failure, else the class's code."""
        return self.code


class TurnFailed(TurnError):
    """The turn failed; `reason` is a code of SPEC section 3 or 5 (`local_unavailable`, ...)."""

    code = "failed"
    default_message = "the turn failed"

    def __init__(self, reason: str, message: str | None = None) -> None:
        self.reason = reason
        super().__init__(message if message is not None else f"the turn failed: {reason}")

    @property
    def turn_code(self) -> str:
        return self.reason


MAXIMUM_OUTPUT_BYTES: Final = 2 * 1024 * 1024
"""Several times what any model writes in one turn; even escaped it fits a record of the store."""


def answer_too_long() -> TurnFailed:
    """The answer has more than MAXIMUM_OUTPUT_BYTES, whole or so far."""
    return TurnFailed("bad_output", f"the answer has more than {MAXIMUM_OUTPUT_BYTES} bytes")


class TurnTimeout(TurnError):
    """The turn outlived its deadline; the session lives on.  Source: seed A3."""

    code = "timeout"
    default_message = "the turn took longer than its session allows (turn_timeout_ms)"


class TurnCancelled(TurnError):
    """Someone cancelled the turn; the session lives on."""

    code = "cancelled"
    default_message = "the turn was cancelled"
