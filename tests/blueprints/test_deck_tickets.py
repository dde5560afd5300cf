"""`POST /deck/ticket`, and what the socket's route says before there is a socket."""

import pytest

from mead.config import Settings
from mead.ids import new_session_id
from tests.blueprints.deck_app import KEY, Page, page
from tests.helpers.server import MCP_TOKEN
from tests.helpers.waiting import eventually
from wsgi import create_app

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture
def deck(tmp_path):
    with page(tmp_path) as one:
        yield one


def upgrade(deck: Page, ticket: str | None = None, **headers: str):
    """A test client's request cannot become a WebSocket: 501 means that all checks were passed."""
    query = {} if ticket is None else {"ticket": ticket}
    return deck.get("socket", token=None, query_string=query, headers={**UPGRADE, **headers})


# -- tickets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"{}", b'{"session_id": null}', b'{"later": 1}'])
def test_a_ticket_without_an_id_is_for_a_new_conversation(deck, body):
    answer = deck.post("ticket", data=body, content_type="application/json")
    assert answer.status_code == 200
    assert set(answer.json) == {"ticket", "session_id", "expires_in_ms"}
    assert answer.json["expires_in_ms"] == 10_000
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert deck.mead.list_sessions() == [], "it starts when the ticket is redeemed"


def test_a_ticket_for_a_running_a_stored_or_a_reserved_conversation_keeps_its_id(deck):
    running, stored = deck.conversation("hello"), deck.conversation("hello")
    deck.mead.stop_session(stored)
    reserved = deck.post("ticket").json["session_id"]
    for session_id in (running, stored, reserved):
        answer = deck.post("ticket", json={"session_id": session_id})
        assert (answer.status_code, answer.json["session_id"]) == (200, session_id)


@pytest.mark.parametrize("unknown", [new_session_id(), "../etc/passwd", "", "A" * 5000])
def test_a_conversation_that_is_not_there_is_a_404(deck, unknown):
    answer = deck.post("ticket", json={"session_id": unknown})
    assert (answer.status_code, answer.json["error"]) == (404, "not_found")
    assert "Retry-After" not in answer.headers


@pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b'{"session_id": 7}', b"\xff"])
def test_a_body_that_says_nothing_usable_is_a_400(deck, body):
    assert deck.post("ticket", data=body, content_type="application/json").status_code == 400


def test_a_body_of_another_type_is_a_415_and_a_large_one_a_413(deck):
    assert deck.post("ticket", data=b"{}", content_type="text/plain").status_code == 415
    large = b'{"x": "' + b"x" * 70_000 + b'"}'
    assert deck.post("ticket", data=large, content_type="application/json").status_code == 413


@pytest.mark.parametrize("token", [None, "wrong-token-0123456789abcdef-0123456", MCP_TOKEN])
def test_no_ticket_without_the_deck_token(deck, token):
    answer = deck.post("ticket", token=token)
    assert (answer.status_code, answer.data) == (401, b"")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_page_of_another_origin_gets_no_ticket(deck):
    assert deck.post("ticket", headers={"Origin": "https://evil.example"}).status_code == 403
    assert deck.post("ticket", headers={"Host": "evil.example"}).status_code == 403


def test_a_damaged_conversation_is_a_409(deck, tmp_path):
    session_id = deck.conversation("hello", "again")
    deck.mead.stop_session(session_id)
    path = tmp_path / f"{session_id}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)
    answer = deck.post("ticket", json={"session_id": session_id})
    assert (answer.status_code, answer.json["error"]) == (409, "corrupt_history")


def test_at_most_a_hundred_tickets_wait(deck):
    session_id = deck.conversation()
    for _ in range(100):
        assert deck.post("ticket", json={"session_id": session_id}).status_code == 200
    answer = deck.post("ticket", json={"session_id": session_id})
    assert (answer.status_code, answer.json["error"]) == (503, "ticket_limit")
    assert answer.headers["Retry-After"] == "2"


def test_a_full_pool_has_no_ticket_for_a_new_conversation():
    with page(runtime={"maximum_sessions": 1}) as deck:
        deck.conversation()
        answer = deck.post("ticket")
        assert (answer.status_code, answer.json["error"]) == (503, "max_children")


def test_a_draining_deck_gives_no_ticket_and_redeems_none(deck):
    ticket = deck.post("ticket").json["ticket"]
    deck.mead.deck().drain()
    assert deck.post("ticket").json["error"] == "draining"
    refused = upgrade(deck, ticket)
    assert (refused.status_code, refused.json["error"]) == (503, "draining")


# -- redeeming -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["subprotocol", "query"])
def test_a_ticket_is_redeemed_once(deck, way):
    issued = deck.post("ticket").json
    ticket = issued["ticket"]
    offered = {"Sec-WebSocket-Protocol": f"mead.deck.v1, ticket.{ticket}"}
    options = {"ticket": ticket} if way == "query" else {}
    headers = offered if way == "subprotocol" else {}
    assert upgrade(deck, **options, **headers).status_code == 501
    assert deck.mead.history(issued["session_id"]) == [], "the conversation runs now"
    again = upgrade(deck, **options, **headers)
    assert (again.status_code, again.json["error"]) == (401, "unauthorized")


@pytest.mark.parametrize("ticket", [None, "", "nothing", "é" * 40])
def test_a_ticket_that_was_never_issued_is_a_401(deck, ticket):
    assert upgrade(deck, ticket).status_code == 401


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Sec-WebSocket-Version": "8"}, 426),
        ({"Sec-WebSocket-Key": "short"}, 400),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
def test_what_is_no_upgrade_does_not_touch_the_ticket(deck, change, status):
    ticket = deck.post("ticket").json["ticket"]
    assert upgrade(deck, ticket, **change).status_code == status
    assert upgrade(deck, ticket).status_code == 501


def test_a_plain_get_of_the_socket_is_a_426_and_does_not_touch_the_ticket(deck):
    ticket = deck.post("ticket").json["ticket"]
    answer = deck.get("socket", token=None, query_string={"ticket": ticket})
    assert (answer.status_code, answer.headers["Upgrade"]) == (426, "websocket")
    assert upgrade(deck, ticket).status_code == 501


def test_a_ticket_is_too_old_after_its_time():
    with page(deck={"ticket_ttl_ms": 1}) as deck:
        issued = deck.post("ticket").json
        assert issued["expires_in_ms"] == 1
        eventually(lambda: not deck.mead.deck()._tickets.is_held(issued["session_id"]))
        assert upgrade(deck, issued["ticket"]).status_code == 401


def test_without_a_deck_token_there_is_no_deck():
    client = create_app(Settings.build({}, environ={})).test_client()
    for path in (
        "/",
        "/deck",
        "/deck/",
        "/deck/info",
        "/deck/socket",
        "/deck/login",
        "/deck/index.html",
    ):
        assert client.get(path, headers=KEY).status_code == 404
        assert client.post(path, headers=KEY).status_code == 404
