"""The deck: tickets, the WebSocket, logins, and what a page asks beside them.

    POST /deck/login         a code becomes an access token
    POST /deck/ticket        a token becomes a ticket for a conversation
    GET  /deck/socket        a ticket becomes a WebSocket
    GET  /deck/info, /deck/usage
    /deck/sessions ...       blueprints.deck_sessions
    /deck/                   the page, blueprints.deck_page

The guards stand before every view; behind it is one call of `mead.deck.deck.Deck` or of the public
API.  Source: SPEC section 8.
"""

import logging
from typing import Final

from flask import Blueprint, Flask, Response, g, request

from blueprints.bodies import read_object
from blueprints.deck_page import page_blueprint
from blueprints.deck_sessions import BODY_BYTES, DeckRuntime, add_session_routes
from blueprints.errors import STATUS_OF_CODE, error_response, too_many_requests
from blueprints.guards import Access, Guards, access
from blueprints.query import json_response, whole_number
from blueprints.sockets import add_sockets, socket_route
from blueprints.tokens import WINDOW_S
from mead.config import Settings
from mead.deck.protocol import SUBPROTOCOL
from mead.deck.refusals import STATUS, TicketRefused
from mead.errors import InvalidInput, MeadError
from mead.mcp.server.revisions import server_info
from mead.protocols import FrameSocket, SocketEngine

log = logging.getLogger(__name__)

SUBPROTOCOLS: Final = (SUBPROTOCOL,)
TICKET_PREFIX: Final = "ticket."
RETRY_S: Final = 2
"""When to ask again for what is not to be had just now."""
RECENT_TURNS: Final = 20

HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def add_deck(
    app: Flask, runtime: DeckRuntime, settings: Settings, guards: Guards, engine: SocketEngine
) -> None:
    """Serve the deck, if there is a token to ask for it with."""
    if settings.deck.token is None:
        log.info("no deck.token: /deck is not served")
        return
    guards.accept(Access.DECK, _LoginTokens(runtime))
    add_sockets(app, engine)
    app.register_blueprint(deck_blueprint(runtime, guards, engine))
    app.register_blueprint(page_blueprint())


class _LoginTokens:
    """The Matcher of access tokens; none while the deck does not run."""

    def __init__(self, runtime: DeckRuntime) -> None:
        self._runtime = runtime

    def __call__(self, token: str) -> bool:
        try:
            return self._runtime.deck().logins.matches(token)
        except MeadError:
            return False


def deck_blueprint(runtime: DeckRuntime, guards: Guards, engine: SocketEngine) -> Blueprint:
    """Every route but the page's files."""
    blueprint = Blueprint("deck", __name__)
    blueprint.register_error_handler(MeadError, _refused)
    blueprint.after_request(_private)
    _add_socket(blueprint, runtime, engine)
    _add_login(blueprint, runtime, guards)
    _add_reports(blueprint, runtime)
    add_session_routes(blueprint, runtime)
    return blueprint


# -- coming in -------------------------------------------------------------------------------------


def _add_socket(blueprint: Blueprint, runtime: DeckRuntime, engine: SocketEngine) -> None:
    @blueprint.post("/deck/ticket")
    @access(Access.DECK)
    def ticket() -> Response:
        """A single-use ticket for that conversation, or for a new one."""
        session_id = read_object(BODY_BYTES).get("session_id")
        if not isinstance(session_id, str | None):
            raise InvalidInput("session_id must be a text")
        return json_response(runtime.deck().issue_ticket(session_id)._asdict())

    @access(Access.OPEN)
    def converse(socket: FrameSocket) -> None:
        """The ticket said for which conversation."""
        runtime.deck().serve(socket, g.deck_session)

    socket_route(blueprint, "/deck/socket", converse)

    @blueprint.before_request
    def redeem() -> None:
        """Before the upgrade: first whether there can be one, then the ticket."""
        if request.endpoint == f"{blueprint.name}.{converse.__name__}":
            engine.check(request.environ)
            g.deck_session = runtime.deck().redeem(_offered_ticket())


def _offered_ticket() -> str:
    """As a subprotocol, as browsers can send it, or in the query.  Raises TicketRefused."""
    for offered in request.headers.get("Sec-WebSocket-Protocol", "").split(","):
        if offered.strip().startswith(TICKET_PREFIX):
            return offered.strip().removeprefix(TICKET_PREFIX)
    ticket = request.args.get("ticket")
    if ticket is None:
        raise TicketRefused
    return ticket


def _add_login(blueprint: Blueprint, runtime: DeckRuntime, guards: Guards) -> None:
    @blueprint.post("/deck/login")
    @access(Access.OPEN)
    def login() -> Response:
        """A code for a token; who guesses is slowed down as with tokens."""
        code = read_object(BODY_BYTES).get("code")
        if not isinstance(code, str):
            raise InvalidInput("code must be a text")
        found = runtime.deck().logins.login(code)
        if found is not None:
            return json_response(found._asdict())
        if guards.wrong.count(guards.sender().address):
            return _unauthorized("that code was used already or is too old; ask for another")
        return too_many_requests(WINDOW_S)


# -- beside it -------------------------------------------------------------------------------------


def _add_reports(blueprint: Blueprint, runtime: DeckRuntime) -> None:
    @blueprint.get("/deck/info")
    @access(Access.DECK)
    def info() -> Response:
        """What the page shows before it connects."""
        return json_response({"version": server_info()["version"], **runtime.deck().info()})

    @blueprint.get("/deck/usage")
    @access(Access.DECK)
    def usage() -> Response:
        """What the models were sent and what came back."""
        return json_response(runtime.usage(recent=whole_number("recent", RECENT_TURNS)))


# -- answers ---------------------------------------------------------------------------------------


def _refused(error: MeadError) -> Response:
    if isinstance(error, TicketRefused):
        return _unauthorized(error.message)
    status = STATUS.get(error.code) or STATUS_OF_CODE.get(error.code, 500)
    response = error_response(status, error.code, error.message)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_S)
    return response


def _unauthorized(message: str) -> Response:
    response = error_response(401, "unauthorized", message)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _private(response: Response) -> Response:
    """Nothing of the deck is kept by a cache or taken for something else."""
    response.headers.update(HEADERS)
    return response
