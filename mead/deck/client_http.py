"""What a client of the deck asks over HTTP, and how little it takes for an answer."""

import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import orjson
import requests
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

TIMEOUT_S: Final = 30.0
ANSWER_BYTES: Final = 65_536
"""A ticket or a token is far shorter."""


class Answer(NamedTuple):
    """`shape` is the JSON object that the body held; None for anything else."""

    status: int
    shape: Mapping[str, Any] | None


def post(
    session: requests.Session, url: str, body: Mapping[str, Any], token: str | None = None
) -> Answer:
    """Ask.  No redirect is followed, no more than ANSWER_BYTES read, nothing decompressed.

    Raises OSError.  Blocks on: the server.
    """
    headers = {"Accept-Encoding": "identity"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with session.post(
            url, json=body, headers=headers, timeout=TIMEOUT_S, allow_redirects=False, stream=True
        ) as answer:
            is_plain = answer.headers.get("Content-Encoding", "identity").lower() == "identity"
            data = _read(cast(BaseHTTPResponse, answer.raw)) if is_plain else b""
    except HTTPError as error:  # raw reading raises urllib3's, which are no OSError
        raise ConnectionError(type(error).__name__) from None
    return Answer(answer.status_code, _object(data))


def _read(raw: BaseHTTPResponse) -> bytes:
    """The body; b"" for one that is too long or takes too long."""
    limit, data = time.monotonic() + TIMEOUT_S, b""
    while len(data) <= ANSWER_BYTES and time.monotonic() < limit:
        piece = raw.read1(ANSWER_BYTES)
        if not piece:
            return data
        data += piece
    return b""


def _object(data: bytes) -> Mapping[str, Any] | None:
    try:
        shape: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", shape) if isinstance(shape, dict) else None
