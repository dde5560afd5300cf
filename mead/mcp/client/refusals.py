"""What it means when a server refuses a request with an HTTP status.  Pure."""

import re
from collections.abc import Sequence
from typing import Final

from mead.mcp.client.faults import ServerFault
from mead.mcp.jsonrpc import Failure, Id, Malformed, decode_each

SESSION_NOT_FOUND: Final = -32001
"""As the official servers say it, beside HTTP 404."""

_FORGOTTEN: Final = re.compile(rb"no valid session id|session not found", re.IGNORECASE)
"""The official servers' words; the older ones say them with HTTP 400."""


def error_in(status: int, body: bytes, request_id: Id, *, in_session: bool) -> Failure:
    """The server's own error in the answer to that request.

    Raises ServerFault when there is none, and `unknown_session` when the request found no session
    and so has certainly not run: an error with the request's own id comes from who has read it.
    """
    failures = _failures(body)
    own = next((one for one in failures if one.id == request_id), None)
    if in_session and _forgotten(status, body, own):
        raise ServerFault("unknown_session", "the server has forgotten the session")
    if failures:
        return Failure(request_id, (own or failures[0]).error)
    if status >= 500:
        raise ServerFault("server_error", f"the server answered HTTP {status}")
    raise ServerFault("rejected", f"the server answered HTTP {status}")


def _forgotten(status: int, body: bytes, own: Failure | None) -> bool:
    if status == 404:
        return own is None or own.error.code == SESSION_NOT_FOUND
    return status == 400 and own is None and _FORGOTTEN.search(body) is not None


def _failures(body: bytes) -> Sequence[Failure]:
    try:
        messages = decode_each(body, 1) if body else []
    except Malformed:
        return ()
    return [one for one in messages if isinstance(one, Failure)]
