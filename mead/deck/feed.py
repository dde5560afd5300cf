"""One socket's share of a conversation: first a replay from the log, then what happens, live.

While it replays, the socket is given nothing live; the replay itself reads on until it has caught
up, and from that moment on the channel pushes.  So nothing is sent twice, nothing is left out, and
a slow client costs no memory.
"""

import logging

from mead.deck.closing import FAILED, SLOW
from mead.deck.event_log import EventLog, Overtaken
from mead.deck.state import DeckState
from mead.errors import MeadError
from mead.protocols.sockets import FrameSocket

log = logging.getLogger(__name__)


class Feed:
    """A socket that has resumed."""

    __slots__ = ("_log", "_reader", "_state", "device", "is_ending", "is_live", "sent", "socket")

    def __init__(
        self, socket: FrameSocket, device: str, events: EventLog, state: DeckState, after: int
    ) -> None:
        """Events beyond the sequence `after` are sent; `state` says which the last one is."""
        self.socket = socket
        self.device = device
        self.sent = after
        """The socket was given every event up to this sequence."""
        self.is_live = after == state.last_sequence
        self.is_ending = False
        """Whether the channel is about to close the socket, and its log may be removed."""
        self._log = events
        self._reader = events.reader(after)
        self._state = state

    def replay(self) -> None:
        """Send what the client lacks, at its pace.  Blocks on: the client, disk."""
        try:
            while not self.is_live:
                if not self._send_batch():
                    return
        except Overtaken:
            self.socket.close(*SLOW)
        except MeadError as error:
            if not self.is_ending:
                log.warning("a replay failed: %s", error)
                self.socket.close(*FAILED)
        except Exception as error:
            log.error("a bug in a replay: %s", type(error).__name__)
            self.socket.close(*FAILED)
            raise
        finally:
            self._reader.close()

    def push(self, frame: bytes, sequence: int) -> None:
        """An event has happened.  Blocks on: nothing."""
        if self.is_live:
            self.sent = sequence
            self.socket.send(frame)

    def repeat(self, sequence: int) -> bool:
        """Send an event once more; False when it is not in the log any more.

        One that the socket was not given yet comes by itself, in its place.  Blocks on: disk.
        Raises CorruptHistory, PersistenceError.
        """
        if sequence > self.sent:
            return True
        reader = self._log.reader(sequence - 1)
        try:
            for event in reader.read(sequence):
                self.socket.send(self.socket.encode_text(event))
        except Overtaken:
            return False
        finally:
            reader.close()
        return True

    def _send_batch(self) -> bool:
        """False when the socket is closed."""
        events = self._reader.read(self._state.last_sequence)
        if not events:  # and no other greenlet has run since that was so
            self.is_live = True
        for event in events:
            if not self.socket.send_paced(self.socket.encode_text(event)):
                return False
        self.sent = self._reader.position
        return True
