"""Every error as a small JSON object: never HTML, never a traceback, never an exception's text.

`{"error": code, "message": sentence}`.  The sentence of a MeadError is written for the person who
reads it; a bug is a generic 500 whose log line names only the exception's class, because a crash
report could print the Authorization header.  Source: seed A7, STYLE of errors in `mead.errors`.
"""

import logging
from collections.abc import Mapping
from typing import Final

from flask import Flask, Response, jsonify
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from mead.errors import MeadError

log = logging.getLogger(__name__)

STATUS_OF_CODE: Final[Mapping[str, int]] = {
    "not_found": 404,
    "already_running": 409,
    "corrupt_history": 409,
    "session_stopped": 409,
    "busy": 429,
    "invalid_input": 400,
    "invalid_route": 400,
    "invalid_interaction": 400,
    "cancelled": 409,
    "timeout": 504,
    "failed": 502,
    "max_children": 503,
    "persistence": 503,
    "ledger_unavailable": 503,
    "session_crashed": 503,
}
"""HTTP status of a MeadError by its code; any other is a 500."""

_CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    426: "upgrade_required",
    429: "too_many_requests",
    503: "unavailable",
}


def error_response(status: int, code: str, message: str | None = None) -> Response:
    """The JSON answer for an error."""
    body = {"error": code} if message is None else {"error": code, "message": message}
    response = jsonify(body)
    response.status_code = status
    return response


def too_many_requests(wait_s: float) -> Response:
    """The answer to somebody who guesses."""
    response = error_response(429, "too_many_requests")
    response.headers["Retry-After"] = str(round(wait_s))
    return response


def empty_response(status: int, headers: Mapping[str, str]) -> Response:
    """An answer without a body, and without the type of one."""
    response = Response(status=status, headers=dict(headers))
    response.headers.remove("Content-Type")
    return response


def handle_errors(app: Flask) -> None:
    """Have every error of the application answered here."""
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(MeadError, _mead_error)
    app.register_error_handler(Exception, _bug)


def _http_error(error: HTTPException) -> ResponseReturnValue:
    if error.response is not None:  # a view made the answer itself
        return error.get_response()
    status = error.code or 500
    response = error_response(status, _CODES.get(status, "error"))
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _mead_error(error: MeadError) -> Response:
    status = STATUS_OF_CODE.get(error.code, 500)
    return error_response(status, error.code, error.message)


def _bug(error: Exception) -> Response:
    log.error("a bug in a request: %s", type(error).__name__)
    return error_response(500, "internal_error")
