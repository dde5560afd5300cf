"""One device: the greenlet that reads its WebSocket, and what it is told beside the events.

The first frame resumes; from then on frames go to the channel one by one (a device waits for the
answer to its frame, so that one which floods is slowed down), and the device's Feed brings the
events.  The same greenlet keeps the heartbeat: it wakes from reading when one is due.
Source: seed A9, "Frames, heartbeat and idle timeout"; SPEC section 8.
"""

import logging
import time
from collections import deque
from dataclasses import asdict
from typing import Final

from mead.actors.actor import ActorRef
from mead.actors.exits import ActorDied, MailboxFull
from mead.actors.green import sleep_ms
from mead.deck.channels import ENDING_POLL_MS, ChannelPool
from mead.deck.closing import ABUSE, FAILED, GONE, IDLE, NOT_RESUMED, STOPPED, Closing
from mead.deck.feed import Feed
from mead.deck.frames import ClientFrame, FrameFault, PromptFault, Resume
from mead.deck.messages import Answer, Attach, Detach, Said
from mead.deck.protocol import id_of, parse
from mead.deck.recorder import tell
from mead.deck.surroundings import Surroundings
from mead.errors import MeadError, SessionNotFound
from mead.protocols.sockets import FrameSocket

log = logging.getLogger(__name__)

FAULTS_ALLOWED: Final = 20
FAULT_WINDOW_S: Final = 60.0
"""More than 20 meaningless frames in a minute close the socket (seed A9)."""


class DeckSocket:
    """A device's stay in one conversation."""

    def __init__(
        self,
        socket: FrameSocket,
        session_id: str,
        channels: ChannelPool,
        surroundings: Surroundings,
    ) -> None:
        self._socket = socket
        self._session_id = session_id
        self._channels = channels
        self._around = surroundings
        self._settings = surroundings.settings
        self._faults: deque[float] = deque()
        self._noted: set[str] = set()
        """The reasons for which this socket was refused something."""

    def run(self) -> None:
        """Returns when the socket is closed.  Blocks on: the client, channel, disk."""
        resume = self._wait_for_resume()
        if resume is None:
            return
        attached = self._attach(resume)
        if attached is None:
            return
        channel, feed = attached
        replay = None
        try:
            if not feed.is_live:
                replay = self._around.tasks.start(feed.replay, name="replay")
            self._converse(channel, feed)
        finally:
            if replay is not None:
                replay.kill()
            _detach(channel, feed)

    # -- coming ------------------------------------------------------------------------------------

    def _wait_for_resume(self) -> Resume | None:
        """The first frame; None when it did not come and the socket is closed."""
        limit = time.monotonic() + self._settings.resume_deadline_ms / 1000
        while (left_s := limit - time.monotonic()) > 0:
            try:
                message = self._socket.receive(left_s * 1000)
            except TimeoutError:
                break
            if message is None:
                return None
            frame = self._parsed(message)
            if isinstance(frame, Resume):
                return frame
            if frame is not None:
                self._reject(FrameFault("not_resumed"))
        self._close(NOT_RESUMED)
        return None

    def _attach(self, resume: Resume) -> tuple[ActorRef, Feed] | None:
        """Subscribe; None when there is nothing to subscribe to and the socket is closed."""
        while self._socket.closed is None:
            try:
                channel = self._channels.channel_for(self._session_id)
                feed: Feed | None = channel.call(Attach(self._socket, resume), None)
            except SessionNotFound:
                self._close(STOPPED if self._is_stored() else GONE)
                return None
            except (ActorDied, MailboxFull, MeadError) as error:
                log.warning("session %s: no channel: %s", self._session_id, type(error).__name__)
                self._close(FAILED)
                return None
            if feed is not None:
                return channel, feed
            sleep_ms(ENDING_POLL_MS)  # it ends, and another will follow it
        return None

    def _is_stored(self) -> bool:
        """Whether a ticket would resume the conversation, which does not run.  Blocks on: disk."""
        try:
            stored = self._around.api.list_sessions()
        except MeadError:  # the next ticket will say so
            return True
        return any(entry.session_id == self._session_id for entry in stored)

    # -- staying -----------------------------------------------------------------------------------

    def _converse(self, channel: ActorRef, feed: Feed) -> None:
        beat_s = self._settings.heartbeat_ms / 1000
        beat_at = time.monotonic() + beat_s
        while self._socket.closed is None:
            now = time.monotonic()
            idle_at = self._socket.last_activity + self._settings.idle_timeout_ms / 1000
            if now >= idle_at:
                self._close(IDLE)
                return
            if now >= beat_at:
                tell(self._socket, "heartbeat", {})
                self._socket.ping()
                beat_at = now + beat_s
            try:
                message = self._socket.receive((min(beat_at, idle_at) - now) * 1000)
            except TimeoutError:
                continue
            if message is None:
                return
            self._take(message, channel, feed)

    def _take(self, message: str | bytes, channel: ActorRef, feed: Feed) -> None:
        frame = self._parsed(message)
        if frame is None:
            return
        try:
            answer: Answer = channel.call(Said(feed, frame), None)
        except (ActorDied, MailboxFull):
            self._close(FAILED)
            return
        if isinstance(answer, FrameFault):
            self._reject(answer)
        elif isinstance(answer, PromptFault):
            self._refuse(answer)
        else:
            self._repeat(answer or (), feed, frame)

    def _repeat(self, sequences: tuple[int, ...] | Answer, feed: Feed, frame: ClientFrame) -> None:
        """Send events again that this device asked for once more."""
        for sequence in sequences if isinstance(sequences, tuple) else ():
            try:
                if not feed.repeat(sequence):
                    about = id_of(asdict(frame))
                    self._reject(FrameFault("already_finished", frame.type, about))
                    return
            except MeadError as error:
                log.warning("session %s: not sent again: %s", self._session_id, error)

    # -- frames that are ignored -------------------------------------------------------------------

    def _parsed(self, message: str | bytes) -> ClientFrame | None:
        """The frame; None when it is ignored, and the client was told so."""
        try:
            return parse(message)
        except FrameFault as fault:
            self._reject(fault)
            self._count(counts=fault.counts)
        except PromptFault as fault:
            self._refuse(fault)
            self._count(counts=fault.counts)
        return None

    def _reject(self, fault: FrameFault) -> None:
        self._note("a frame is ignored", fault.reason)
        payload: dict[str, object] = {"reason": fault.reason}
        if fault.type is not None:
            payload["type"] = fault.type
        if fault.id is not None:
            payload["id"] = fault.id
        tell(self._socket, "frame.rejected", payload)

    def _refuse(self, fault: PromptFault) -> None:
        self._note("a prompt is refused", fault.reason)
        payload = {"client_message_id": fault.client_message_id, "reason": fault.reason}
        tell(self._socket, "prompt.rejected", payload)

    def _note(self, what: str, reason: str) -> None:
        """Say so once for each reason; a client that repeats itself shall not fill the log."""
        level = logging.DEBUG if reason in self._noted else logging.INFO
        self._noted.add(reason)
        log.log(level, "session %s: %s: %s", self._session_id, what, reason)

    def _count(self, *, counts: bool) -> None:
        if not counts:
            return
        now = time.monotonic()
        self._faults.append(now)
        while now - self._faults[0] > FAULT_WINDOW_S:
            self._faults.popleft()
        if len(self._faults) > FAULTS_ALLOWED:
            self._close(ABUSE)

    def _close(self, closing: Closing) -> None:
        self._socket.close(*closing)


def _detach(channel: ActorRef, feed: Feed) -> None:
    try:
        channel.cast(Detach(feed))
    except MailboxFull:
        log.warning("a channel does not keep up with its devices")
