"""Reading a request's body within its bounds.  Source: SPEC section 6."""

import errno
from collections.abc import Mapping
from typing import Any, Final, cast

import orjson
from flask import current_app, request
from werkzeug.exceptions import (
    BadRequest,
    RequestEntityTooLarge,
    RequestTimeout,
    UnsupportedMediaType,
)

from mead.actors.green import Timeout, time_limit

JSON_TYPE: Final = "application/json"
BODY_LIMIT_BYTES: Final = 1_048_576
BODY_DEADLINE_MS: Final = 30_000
DEADLINE_KEY: Final = "MEAD_BODY_DEADLINE_MS"
"""Flask configuration: another deadline."""


def read_body(limit_bytes: int = BODY_LIMIT_BYTES) -> bytes:
    """The whole body, at most `limit_bytes`.

    Werkzeug's own limit cuts a chunked body silently; this one reads one byte further and refuses.
    Raises 413 (too large), 408 (not here in time), 400 (unreadable, or shorter than announced).
    Blocks on: the client, within the deadline.
    """
    announced = request.content_length
    if announced is not None and announced > limit_bytes:
        raise RequestEntityTooLarge
    body = _read(limit_bytes + 1 if announced is None else announced)
    if len(body) > limit_bytes:
        raise RequestEntityTooLarge
    if announced is not None and len(body) < announced:
        raise BadRequest("the body is shorter than announced")
    return body


def _read(size: int) -> bytes:
    config = cast("Mapping[str, float]", current_app.config)
    with time_limit(config.get(DEADLINE_KEY, BODY_DEADLINE_MS)) as limit:
        try:
            return request.environ["wsgi.input"].read(size)
        except Timeout as timeout:
            if timeout is not limit:
                raise
            raise RequestTimeout from None
        except Exception as error:  # noqa: BLE001 - the server's parser has its own
            if isinstance(error, OSError) and error.errno == errno.EMSGSIZE:
                raise RequestEntityTooLarge from None  # its framing is
            raise BadRequest("the body is not readable") from None


def read_object(limit_bytes: int) -> Mapping[str, Any]:
    """The body as a JSON object; an empty body is an empty one.

    Raises as `read_body`, 415 (another type than JSON) and 400 (no JSON object).
    """
    body = read_body(limit_bytes)
    if not body:
        return {}
    if request.mimetype != JSON_TYPE:
        raise UnsupportedMediaType
    try:
        value = cast(object, orjson.loads(body))
    except orjson.JSONDecodeError:
        raise BadRequest("the body is no JSON") from None
    if not isinstance(value, dict):
        raise BadRequest("the body is no JSON object")
    return cast("dict[str, Any]", value)
