"""What every request passes before a view sees it, in the order of SPEC section 6.

Path (404), Host (403), Origin (403), method (405, or 204 for a pre-flight), bearer token (401,
429).  Nothing here reads the body.  A view says whom it serves with `@access(Access.MCP)`; one
that does not say so is refused when the application is made.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, TypeVar

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import Forbidden, MethodNotAllowed, NotFound, SecurityError
from werkzeug.routing.exceptions import WebsocketMismatch

from blueprints.errors import empty_response, error_response, too_many_requests
from blueprints.origins import Origins, Sender
from blueprints.tokens import WINDOW_S, Matcher, WrongTokens, bearer, matches_any
from mead.config import Settings

View = TypeVar("View", bound=Callable[..., Any])

ALLOWED_HEADERS: Final = (
    "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, last-event-id"
)

_ATTRIBUTE: Final = "mead_access"

_PATH_EXISTS: Final = (MethodNotAllowed, WebsocketMismatch, SecurityError)
"""What werkzeug raises for another fault than an unknown path."""


class Access(Enum):
    """Whom a view serves."""

    PROBE = auto()
    """Anyone, whatever Host and Origin say: a health check that holds nothing."""
    OPEN = auto()
    """Anyone who may name this host from their page; the view has a check of its own."""
    MCP = auto()
    """Holders of `mcp_server.token`."""
    DECK = auto()
    """Holders of `deck.token`."""
    EITHER = auto()
    """Holders of one of the two."""


def access(level: Access) -> Callable[[View], View]:
    """Declare whom a view serves; below `@route`."""

    def declare(view: View) -> View:
        setattr(view, _ATTRIBUTE, level)
        return view

    return declare


class Guards:
    """The guards of one application."""

    def __init__(self, settings: Settings) -> None:
        self.wrong = WrongTokens()
        self._origins = Origins(settings.mcp_server)
        self._matchers: dict[Access, list[Matcher]] = {Access.MCP: [], Access.DECK: []}
        for face, token in (
            (Access.MCP, settings.mcp_server.token),
            (Access.DECK, settings.deck.token),
        ):
            if token is not None:
                self.accept(face, token.matches)

    def accept(self, face: Access, matches: Matcher) -> None:
        """Let another kind of token in at that face (MCP or DECK)."""
        self._matchers[face].append(matches)

    def protect(self, app: Flask) -> None:
        """Stand before every view of `app`; call it when all blueprints are registered.

        Raises RuntimeError for a view that does not say whom it serves.
        """
        for endpoint, view in app.view_functions.items():
            if not hasattr(view, _ATTRIBUTE):
                raise RuntimeError(f"{endpoint} does not say whom it serves: add @access(...)")
        app.before_request(self._check)
        app.after_request(self._share)

    # -- the checks --------------------------------------------------------------------------------

    def _check(self) -> Response | None:
        fault = request.routing_exception
        level = _level() if fault is None else Access.OPEN
        if level is Access.PROBE:
            return None
        if fault is not None and not isinstance(fault, _PATH_EXISTS):
            raise NotFound
        self._check_origin(fault)
        if isinstance(fault, MethodNotAllowed):
            return self._other_method(fault)
        if isinstance(fault, WebsocketMismatch):
            return _upgrade_required()
        return None if level is Access.OPEN else self._check_token(level)

    def _check_origin(self, fault: Exception | None) -> None:
        if isinstance(fault, SecurityError) or not self._is_ours():
            raise Forbidden

    def _is_ours(self) -> bool:
        """Whether Host and Origin may be what they are."""
        sender = self.sender()
        return self._origins.host_is_allowed(sender) and self._origins.origin_is_allowed(
            request.headers.get("Origin"), sender
        )

    def sender(self) -> Sender:
        """Who sent the current request."""
        if "sender" not in g:
            g.sender = self._origins.sender(request.environ.get("REMOTE_ADDR", ""), request.headers)
        return g.sender

    def _other_method(self, fault: MethodNotAllowed) -> Response:
        if request.method != "OPTIONS" or "Origin" not in request.headers:
            raise fault
        methods = ", ".join(sorted(fault.valid_methods or ()))
        return empty_response(
            204,
            {
                "Access-Control-Allow-Methods": methods,
                "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            },
        )

    def _check_token(self, level: Access) -> Response | None:
        token = bearer(request.headers.get("Authorization"))
        if token is not None:
            if matches_any(token, self._matchers_of(level)):
                return None
            if not self.wrong.count(self.sender().address):
                return too_many_requests(WINDOW_S)
        return empty_response(401, {"WWW-Authenticate": "Bearer"})

    def _matchers_of(self, level: Access) -> list[Matcher]:
        if level is Access.EITHER:
            return self._matchers[Access.MCP] + self._matchers[Access.DECK]
        return self._matchers[level]

    def _share(self, response: Response) -> Response:
        """Let the page of an allowed origin read the answer, an error too."""
        origin = request.headers.get("Origin")
        if origin is not None and self._is_ours():
            response.headers["Access-Control-Allow-Origin"] = origin
            response.vary.add("Origin")
        return response


def _level() -> Access:
    view = current_app.view_functions[request.endpoint or ""]
    level: Access = getattr(view, _ATTRIBUTE)
    return level


def _upgrade_required() -> Response:
    """A WebSocket's path was asked without an upgrade, or another path with one."""
    if request.environ.get("HTTP_UPGRADE", "").lower() == "websocket":
        return error_response(400, "bad_request")
    response = error_response(426, "upgrade_required")
    response.headers["Upgrade"] = "websocket"
    return response
