"""The channels that run: one for each conversation that a device has open, or had just now."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from mead.actors.actor import ActorRef
from mead.actors.dynamic import DynamicSupervisor, TooManyChildren
from mead.actors.exits import ActorDied, CallTimeout, Child, Exit, MailboxFull
from mead.actors.green import Event, sleep_ms
from mead.deck.channel import Channel
from mead.deck.event_log import EventLog, Limits
from mead.deck.file_log import FileEventLog
from mead.deck.memory_log import MemoryEventLog
from mead.deck.messages import Begin, Deleted, Deleting, Drain, LetGo, SessionEnded
from mead.deck.state import DeckState
from mead.deck.surroundings import Surroundings
from mead.errors import SessionNotFound, SessionStopped

log = logging.getLogger(__name__)

LET_GO_MS: Final = 5000
"""More than a channel gives the running turn of an ended session, and its disk."""
ENDING_POLL_MS: Final = 2
"""How often it is looked whether an ending channel has let go of its log, which takes some."""


class RunningSession(Child, Protocol):
    """A conversation that runs, as its deck sees it."""

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        ...


FindSession = Callable[[str], RunningSession | None]
"""The running conversation with that id, from the registry."""


class ChannelPool(DynamicSupervisor[ActorRef]):
    """Starts a channel when it is first asked for; one that ends is not started again."""

    def __init__(
        self, surroundings: Surroundings, find_session: FindSession, *, max_children: int
    ) -> None:
        super().__init__("channels", max_children=max_children)
        self._around = surroundings
        self._find_session = find_session
        self._channels: dict[str, Channel] = {}
        self._starting: dict[str, Event] = {}
        self._watched: dict[str, Child] = {}
        self._deleting: set[str] = set()
        """No channel is started for these."""
        self._is_draining = False

    def channel_for(self, session_id: str) -> ActorRef:
        """The channel of a running conversation, started if need be.

        Raises SessionNotFound, PersistenceError, and what the history raises.
        Blocks on: disk, session.
        """
        while True:
            found = self.get(session_id)
            starting = self._starting.get(session_id)
            if found is not None and found.alive:
                return found
            if starting is not None:
                starting.wait()
            elif found is not None or session_id in self._deleting:
                sleep_ms(ENDING_POLL_MS)
            else:
                return self._start(session_id)

    def running(self, session_id: str) -> ActorRef | None:
        """The channel of that conversation, if it has one now."""
        found = self.get(session_id)
        return found if found is not None and found.alive else None

    def state_of(self, session_id: str) -> DeckState | None:
        """What the channel knows, to look at; None without a channel."""
        return None if self.running(session_id) is None else self._channels[session_id].state

    def is_attached(self, session_id: str) -> bool:
        """Whether a device has that conversation open, or a turn runs or waits there."""
        return self.running(session_id) is not None and self._channels[session_id].is_attached

    def deleting(self, session_id: str) -> None:
        """The session is about to be stopped for good.  Blocks on: nothing."""
        self._deleting.add(session_id)
        if (channel := self.running(session_id)) is not None:
            with suppress(MailboxFull):  # it learns of it when it has to let go
                channel.cast(Deleting())

    def let_go(self, session_id: str) -> None:
        """Its session has stopped: return once no channel writes to its files.

        Blocks on: the running turn, disk; at most LET_GO_MS for a channel that runs.
        """
        if (starting := self._starting.get(session_id)) is not None:
            starting.wait(LET_GO_MS / 1000)
        if (channel := self.running(session_id)) is not None:
            try:
                channel.call(LetGo(), LET_GO_MS)
            except (ActorDied, CallTimeout, MailboxFull) as error:
                log.info("session %s is deleted: %s", session_id, type(error).__name__)

    def deleted(self, session_id: str, *, is_removed: bool) -> None:
        """The deletion has ended, with the files or without.  Blocks on: nothing."""
        self._deleting.discard(session_id)
        if (channel := self.running(session_id)) is not None:
            try:
                channel.cast(Deleted(is_removed))
            except MailboxFull:  # nothing else would end it
                channel.kill()

    def drain(self) -> None:
        """Start no turn any more and let nobody wait for a person.  Blocks on: nothing."""
        self._is_draining = True
        for channel in self.children.values():
            channel.cast(Drain())

    def _start(self, session_id: str) -> ActorRef:
        session = self._find_session(session_id)
        if session is None:
            raise SessionNotFound
        done = self._starting[session_id] = Event()
        try:
            channel = Channel(session_id, self._around, lambda: self._open_log(session_id))
            ref = self._start_channel(session_id, channel)
            self._channels[session_id] = channel
            ref.on_end(lambda _: self._drop(session_id, channel))
            self._watch(session_id, session)
            return ref
        finally:
            del self._starting[session_id]
            done.set()

    def _start_channel(self, session_id: str, channel: Channel) -> ActorRef:
        try:
            ref = self.start_child(session_id, channel.start)
        except TooManyChildren:
            raise SessionStopped("the deck is stopping") from None
        ref.cast(Drain() if self._is_draining else Begin())
        return ref

    def _open_log(self, session_id: str) -> tuple[EventLog, DeckState]:
        settings, files = self._around.settings, self._around.files
        limits = Limits(settings.event_log_limit, settings.event_log_bytes)
        if files is None:
            return MemoryEventLog(limits), DeckState()
        return FileEventLog.open(files, session_id, limits)

    def _watch(self, session_id: str, session: Child) -> None:
        """Have the channel told when its session ends; at once if it has."""
        if self._watched.get(session_id) is not session:
            self._watched[session_id] = session
            session.on_end(lambda exit_: self._session_ended(session_id, session, exit_))

    def _session_ended(self, session_id: str, session: Child, exit_: Exit) -> None:
        """May run in the hub."""
        if self._watched.get(session_id) is session:
            del self._watched[session_id]
        channel = self.get(session_id)
        if channel is not None:
            channel.cast(SessionEnded(exit_))

    def _drop(self, session_id: str, channel: Channel) -> None:
        if self._channels.get(session_id) is channel:
            del self._channels[session_id]
