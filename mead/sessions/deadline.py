"""The clock of a running turn: it starts with the turn and stands still while a person is asked."""

import time
from types import TracebackType

from mead.actors.actor import ActorRef
from mead.actors.timer import Timer


class Deadline:
    """Casts `message` to `ref` once `budget_ms` of unpaused time have passed.

    Paused from the turn's own tasks (`with deadline.paused():`); pauses nest, because several tool
    calls may be waiting for a person at once.  Source: seed A9, SPEC section 8.
    """

    __slots__ = ("_message", "_over", "_pauses", "_ref", "_remaining_ms", "_started", "_timer")

    def __init__(self, ref: ActorRef, budget_ms: float, message: object) -> None:
        self._ref = ref
        self._message = message
        self._remaining_ms = budget_ms
        self._pauses = 0
        self._over = False
        self._started = 0.0
        self._timer: Timer | None = None
        self._run()

    @property
    def is_paused(self) -> bool:
        """Whether the clock stands still."""
        return self._pauses > 0

    def paused(self) -> "Deadline":
        """A context manager that stops the clock while its block runs."""
        return self

    def cancel(self) -> None:
        """Never fire: the turn is over.  Idempotent."""
        self._over = True
        self._halt()

    def __enter__(self) -> None:
        self._pauses += 1
        if self._pauses == 1:
            self._halt()
            self._remaining_ms -= (time.monotonic() - self._started) * 1000

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pauses -= 1
        # A turn that ends inside a pause is killed there; its clock must not start again.
        if self._pauses == 0 and not self._over:
            self._run()

    def _halt(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._started = time.monotonic()
        self._timer = Timer(self._ref, self._remaining_ms, self._message)
