"""One conversation: a `rest_for_one` pair of its history and its server.  Source: seed A3."""

from typing import Final, cast

from mead.actors.actor import ActorRef
from mead.actors.supervisor import ChildSpec, Supervisor
from mead.actors.tasks import TaskSupervisor
from mead.protocols import TurnHandler, TurnLog
from mead.sessions.activity import Activity
from mead.sessions.history import History
from mead.sessions.server import SessionServer

MAX_RESTARTS: Final = 3
MAX_SECONDS: Final = 5.0


class SessionSupervisor(Supervisor):
    """Restarts the server with its history; gives up after the fourth crash in five seconds."""

    __slots__ = ("activity", "session_id")

    def __init__(
        self,
        session_id: str,
        log: TurnLog,
        *,
        handler: TurnHandler,
        turn_timeout_ms: int,
        max_turns: int | None,
        turns: TaskSupervisor,
    ) -> None:
        self.session_id = session_id
        self.activity = Activity()
        super().__init__(
            f"session {session_id}",
            (
                ChildSpec(
                    id="history",
                    start=lambda: History(session_id, log, max_turns=max_turns).start(),
                ),
                ChildSpec(
                    id="server",
                    start=lambda: SessionServer(
                        session_id,
                        history=cast("ActorRef", self.history),
                        handler=handler,
                        turn_timeout_ms=turn_timeout_ms,
                        turns=turns,
                        activity=self.activity,
                    ).start(),
                ),
            ),
            strategy="rest_for_one",
            max_restarts=MAX_RESTARTS,
            max_seconds=MAX_SECONDS,
        )

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self.activity.busy

    @property
    def history(self) -> ActorRef | None:
        """The running history, or None in the moment between its end and its restart."""
        return cast("ActorRef | None", self.child("history"))

    @property
    def server(self) -> ActorRef | None:
        """The running server, or None in the moment between its end and its restart."""
        return cast("ActorRef | None", self.child("server"))
