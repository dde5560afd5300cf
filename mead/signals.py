"""The names that Mead announces through blinker, with their fields.

`sender` is the `Mead` object that the event belongs to, so that two runtimes in one process stay
apart: `signals.route.connect(receiver, sender=mead)`.  A receiver runs in the greenlet that emits:
it may count and enqueue, and must not wait.  Source: SPEC section 4.
"""

import logging
from typing import Final

from blinker import Namespace, Signal

from mead.actors.green import Killed

log = logging.getLogger(__name__)

_namespace: Final = Namespace()

route: Final[Signal] = _namespace.signal("route")
"""A routed turn ended.  Fields, measurements first: `duration_ms` (float), `input_tokens`,
`output_tokens`, `cache_read_tokens`, `cache_write_tokens` (int, summed over the turn's model
calls), `tool_calls` (int), then `route` (local or cloud), `route_source` (classified, forced or
default), `provider`, `model` (str, None for an empty slot), `status` (ok or error), `session_id`
(str, None outside a session)."""


def emit(signal: Signal, sender: object, **fields: object) -> None:
    """Send to every receiver; one that raises is logged by name and never reaches the sender."""
    if not signal.receivers:
        return
    for receiver in list(signal.receivers_for(sender)):
        try:
            receiver(sender, **fields)
        except Killed:  # the turn itself is told to end
            raise
        except BaseException as error:  # noqa: BLE001 - a receiver's fault is the receiver's alone
            name = getattr(receiver, "__qualname__", type(receiver).__name__)
            log.warning("signal receiver %s failed: %s", name, type(error).__name__)
