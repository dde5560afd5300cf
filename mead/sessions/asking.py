"""Calls to the actors of a conversation, from any greenlet."""

import time
from collections.abc import Callable
from typing import Any, Final

from mead.actors.actor import ActorRef
from mead.actors.exits import ActorDied, MailboxFull
from mead.actors.green import pause
from mead.errors import Busy, MeadError, SessionCrashed, SessionNotFound, SessionStopped
from mead.sessions.supervisor import SessionSupervisor

RESTART_WAIT_S: Final = 1.0
"""How long a call waits for a crashed session to be back; a restart takes milliseconds."""


def ask(find: Callable[[], ActorRef | None], pair: SessionSupervisor, message: object) -> Any:
    """Call an actor of a conversation, waiting a moment for one that is being restarted.

    Only the wait for the answer is without a time limit of its own: the answer of a turn comes by
    its deadline, and the end of the actor ends the wait.  Raises SessionNotFound, SessionStopped,
    SessionCrashed, and what the actor answers with.
    """
    give_up = time.monotonic() + RESTART_WAIT_S
    while True:
        actor = find()
        if actor is not None:
            try:
                return actor.call(message, None)
            except MailboxFull:
                raise Busy("the session has too many unread messages; try again later") from None
            except ActorDied as died:
                if not died.unread:
                    raise _session_error(died) from None
        if not pair.alive:
            raise SessionNotFound
        if time.monotonic() > give_up:
            raise SessionCrashed
        pause()


def _session_error(died: ActorDied) -> MeadError:
    return SessionStopped() if died.exit.kind == "normal" else SessionCrashed()
