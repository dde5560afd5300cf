"""Where an event becomes true: numbered, logged, applied to the state, sent to every device."""

from collections.abc import Iterable, Mapping

from mead.deck.event_log import EventLog
from mead.deck.events import Event, NewEvent, told
from mead.deck.feed import Feed
from mead.deck.fold import apply
from mead.deck.state import DeckState
from mead.errors import PersistenceError
from mead.protocols.sockets import FrameSocket
from mead.turn import iso_now


class LogFailed(Exception):
    """The log cannot be written; the channel ends."""


class Recorder:
    """The log, the state and the devices of one conversation; used by its channel alone."""

    def __init__(self, log: EventLog, state: DeckState) -> None:
        self.log = log
        self.state = state
        self.feeds: list[Feed] = []

    def record(self, events: Iterable[NewEvent]) -> None:
        """Make these events true, in one write.

        Raises LogFailed; nobody was told anything then.  Blocks on: disk.
        """
        new = list(events)
        if not new:
            return
        now = iso_now()
        placed = [
            Event(each.type, sequence, each.at or now, each.payload)
            for sequence, each in enumerate(new, start=self.state.last_sequence + 1)
        ]
        try:
            encoded = self.log.append(placed, sync=any(each.is_synced for each in new))
        except PersistenceError as error:
            raise LogFailed(error.message) from None
        for event, data in zip(placed, encoded, strict=True):
            apply(self.state, event)
            self._publish(event.sequence, data)
        self.log.compact(self.state)

    def _publish(self, sequence: int, data: bytes) -> None:
        if not self.feeds:
            return
        frame = self.feeds[0].socket.encode_text(data)
        for feed in self.feeds:
            feed.push(frame, sequence)


def tell(
    socket: FrameSocket, type_: str, payload: Mapping[str, object], *, counts: bool = True
) -> None:
    """Send one socket a message that is in no log.  `counts`: see FrameSocket.send."""
    socket.send(socket.encode_text(told(type_, iso_now(), payload)), counts=counts)
