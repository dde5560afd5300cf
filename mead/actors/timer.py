"""A message to an actor after a while.  OTP's `Process.send_after`."""

import gevent

from mead.actors.actor import ActorRef
from mead.actors.exits import MailboxFull


class Timer:
    """Casts `message` to `ref` after `delay_ms`, unless cancelled before."""

    __slots__ = ("_message", "_ref", "_watcher")

    def __init__(self, ref: ActorRef, delay_ms: float, message: object) -> None:
        self._ref = ref
        self._message = message
        self._watcher = gevent.get_hub().loop.timer(max(0.0, delay_ms) / 1000)
        self._watcher.start(self._fire)

    def cancel(self) -> None:
        """Send nothing.  Safe to call twice, and after the message was sent."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
            watcher.close()

    def _fire(self) -> None:
        """Runs in the hub, so it must neither block nor raise."""
        try:
            self._ref.cast(self._message)
        except MailboxFull:
            # The actor is stuck; it would not read this message in time anyway.
            pass
        finally:
            self.cancel()
