"""The plain MCP request, served before Flask: four of ten microseconds of a request are Flask's.

A request is plain when every guard would let it through without a second look: POST /mcp with the
right token, an allowed Host, no Origin (so no browser), and a JSON body of known length.  Anything
else, whatever is wrong with it, goes to Flask untouched, where the guards decide in their order. So
this can serve less than they would, never more.  Source: docs/adr/0007-plain-requests.md.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from blueprints.bodies import BODY_LIMIT_BYTES, JSON_TYPE
from blueprints.origins import Origins
from blueprints.tokens import bearer
from mead.actors.green import Timeout, time_limit
from mead.config import McpServerSettings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Headers = list[tuple[str, str]]
Answer = tuple[int, Headers, Iterable[bytes]]
"""Status, headers and body."""

_HOSTS_REMEMBERED: Final = 256
_FORWARDED: Final = ("HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO")


class PlainRequests:
    """A WSGI application: `answer` for plain requests, `flask` for all others."""

    def __init__(
        self,
        flask: "WSGIApplication",
        server: McpServerSettings,
        answer: "Callable[[WSGIEnvironment, bytes], Answer]",
        body_deadline_ms: Callable[[], float],
    ) -> None:
        self._flask = flask
        self._token = server.token
        self._origins = Origins(server)
        self._answer = answer
        self._body_deadline_ms = body_deadline_ms
        self._is_ours = lru_cache(_HOSTS_REMEMBERED)(self._host_is_allowed)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """See PEP 3333.  Blocks on: the client, within the deadline, and what `answer` does."""
        if not self._is_plain(environ):
            return self._flask(environ, start_response)
        body = self._read(environ, int(environ["CONTENT_LENGTH"]))
        status, headers, chunks = self._answer(environ, body) if isinstance(body, bytes) else body
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return chunks

    def _is_plain(self, environ: "WSGIEnvironment") -> bool:
        return (
            environ.get("PATH_INFO") == "/mcp"
            and environ.get("REQUEST_METHOD") == "POST"
            and environ.get("CONTENT_TYPE") == JSON_TYPE
            and "HTTP_ORIGIN" not in environ
            and "HTTP_TRANSFER_ENCODING" not in environ
            and _is_length(environ.get("CONTENT_LENGTH", ""))
            and not any(name in environ for name in _FORWARDED)
            and self._is_ours(environ.get("REMOTE_ADDR", ""), environ.get("HTTP_HOST"))
            and self._has_token(environ.get("HTTP_AUTHORIZATION"))
        )

    def _host_is_allowed(self, peer: str, host: str | None) -> bool:
        headers = {} if host is None else {"Host": host}
        return self._origins.host_is_allowed(self._origins.sender(peer, headers))

    def _has_token(self, header: str | None) -> bool:
        token = bearer(header)
        return token is not None and self._token is not None and self._token.matches(token)

    def _read(self, environ: "WSGIEnvironment", length: int) -> bytes | Answer:
        """The whole body, or the answer that `blueprints.bodies` would give."""
        with time_limit(self._body_deadline_ms()) as limit:
            try:
                body: bytes = environ["wsgi.input"].read(length)
            except Timeout as timeout:
                if timeout is not limit:
                    raise
                return _refusal(408, "request_timeout")
            except Exception:  # noqa: BLE001 - the server's parser has exceptions of its own
                return _refusal(400, "bad_request")
        return body if len(body) == length else _refusal(400, "bad_request")


def _is_length(text: str) -> bool:
    """Whether it announces a body that may be read."""
    return text.isascii() and text.isdecimal() and len(text) < 8 and int(text) <= BODY_LIMIT_BYTES


def _refusal(status: int, code: str) -> Answer:
    return json_answer(status, b'{"error":"%b"}\n' % code.encode())


def json_answer(status: int, body: bytes) -> Answer:
    """An answer with a JSON body; without a body it has no type."""
    headers: Any = [("Content-Type", JSON_TYPE)] if body else []
    return status, [*headers, ("Content-Length", str(len(body)))], [body]
