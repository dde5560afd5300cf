"""Why a device does not get in: the errors of tickets, and the HTTP status of each.

400  invalid_input    401  unauthorized    404  not_found (do not retry)
409  corrupt_history    503  max_children, persistence, ticket_limit, draining
"""

from collections.abc import Mapping
from typing import Final

from mead.errors import MeadError


class TicketRefused(MeadError):
    """The ticket was never issued, has been used, or is too old."""

    code = "unauthorized"
    default_message = "that ticket is not valid (any more); ask for another"


class TicketLimit(MeadError):
    """As many tickets wait to be used as may wait."""

    code = "ticket_limit"
    default_message = "too many tickets are waiting to be used; try again in a few seconds"


class Draining(MeadError):
    """The server is about to stop."""

    code = "draining"
    default_message = "the server is restarting; try again in a few seconds"


STATUS: Final[Mapping[str, int]] = {
    "invalid_input": 400,
    "unauthorized": 401,
    "not_found": 404,
    "already_running": 409,
    "corrupt_history": 409,
    "max_children": 503,
    "persistence": 503,
    "session_stopped": 503,
    "ledger_unavailable": 503,
    "ticket_limit": 503,
    "draining": 503,
}
"""HTTP status by MeadError.code; what is not here is a 500."""
