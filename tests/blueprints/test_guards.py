"""The order of checks of SPEC section 6, up to the token, through the real application."""

import pytest
from flask import Flask

from blueprints.guards import Access, Guards, access
from mead.config import Settings
from tests.blueprints.conftest import authorized, make_app
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN

EVIL = {"Host": "evil.example"}
PAGE = {"Origin": "http://evil.example"}
OURS = {"Origin": "http://localhost"}


# -- the order -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/nothing", EVIL | PAGE, 404),
        ("GET", "/.well-known/oauth-protected-resource", EVIL, 404),
        ("GET", "/face", EVIL | PAGE, 403),
        ("GET", "/face", PAGE, 403),
        ("GET", "/face", {"Origin": "null"}, 403),
        ("OPTIONS", "/face", PAGE, 403),
        ("GET", "/face", {}, 405),
        ("DELETE", "/face", authorized(), 405),
        ("OPTIONS", "/face", {}, 405),
        ("POST", "/face", {}, 401),
        ("POST", "/face", authorized("wrong"), 401),
        ("POST", "/face", authorized(DECK_TOKEN), 401),
        ("POST", "/face", authorized(), 200),
        ("DELETE", "/deck/things/a", authorized(DECK_TOKEN), 200),
        ("DELETE", "/deck/things/a", authorized(), 401),
        ("GET", "/open", {}, 200),
        ("GET", "/open", EVIL, 403),
        ("POST", "//face", authorized(), 404),
        ("POST", "/face/", authorized(), 404),
    ],
)
def test_the_first_check_that_fails_answers(client, method, path, headers, status):
    answer = client.open(path, method=method, headers=headers)
    assert answer.status_code == status
    assert b"<" not in answer.data
    assert "html" not in answer.headers.get("Content-Type", "")


def test_a_host_that_is_no_host_is_forbidden(client):
    assert client.post("/face", headers={"Host": "a b"}).status_code == 403


def test_an_unauthorized_answer_is_empty_and_says_how_to_ask(client):
    answer = client.post("/face")
    assert answer.data == b""
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "Content-Type" not in answer.headers


def test_a_wrong_method_names_the_right_ones(client):
    assert client.get("/face").headers["Allow"] == "POST"
    assert client.get("/deck/things/a").headers["Allow"] == "DELETE, PATCH"
    assert client.get("/face").json == {"error": "method_not_allowed"}


# -- pages of other origins ------------------------------------------------------------------------


def test_a_preflight_names_the_methods_of_the_path(client):
    answer = client.options("/deck/things/a", headers=OURS)
    assert answer.status_code == 204
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost"
    assert answer.headers["Access-Control-Allow-Methods"] == "DELETE, PATCH"
    assert answer.headers["Access-Control-Allow-Headers"] == (
        "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, last-event-id"
    )
    assert answer.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/face", authorized(), 200),
        ("POST", "/face", {}, 401),
        ("GET", "/face", {}, 405),
        ("GET", "/nothing", {}, 404),
        ("GET", "/healthz", {}, 200),
    ],
)
def test_every_answer_to_an_allowed_origin_may_be_read_by_it(client, method, path, headers, status):
    answer = client.open(path, method=method, headers=headers | OURS)
    assert answer.status_code == status
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost"
    assert answer.headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    "headers", [PAGE, {"Origin": "null"}, {"Origin": "http://evil.example"} | EVIL, {}]
)
@pytest.mark.parametrize("path", ["/face", "/nothing", "/healthz"])
def test_no_other_origin_may_read_an_answer(client, path, headers):
    answer = client.post(path, headers=headers)
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_listed_origin_may_ask():
    client = make_app(allowed_origins=["https://app.example"]).test_client()
    asked = {"Origin": "https://app.example"} | authorized()
    answer = client.post("/face", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"


# -- guessing --------------------------------------------------------------------------------------


def test_guessing_is_slowed_and_the_right_token_always_served(client):
    for _ in range(10):
        assert client.post("/face", headers=authorized("wrong")).status_code == 401
    refused = client.post("/face", headers=authorized("wrong"))
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "60"
    assert client.post("/face", headers=authorized()).status_code == 200
    assert client.post("/face").status_code == 401  # nothing was guessed


def test_a_forwarded_address_counts_only_from_a_trusted_proxy():
    def guess(app, number):
        headers = authorized("wrong") | {"X-Forwarded-For": f"203.0.113.{number}"}
        return app.test_client().post("/face", headers=headers).status_code

    strict = make_app()
    assert [guess(strict, number) for number in range(11)][-1] == 429
    behind = make_app(trusted_proxies=["127.0.0.1"])
    assert {guess(behind, number) for number in range(11)} == {401}


# -- declaring -------------------------------------------------------------------------------------


def test_a_view_that_does_not_say_whom_it_serves_is_refused():
    app = Flask("forgetful", static_folder=None)

    @app.get("/forgotten")
    def forgotten() -> str:
        return "everyone"

    with pytest.raises(RuntimeError, match="forgotten does not say whom it serves"):
        Guards(Settings()).protect(app)


def test_another_kind_of_token_can_be_let_in(client):
    guards = client.application.extensions["mead.guards"]
    guards.accept(Access.DECK, lambda token: token == "a-fresh-one")
    assert client.delete("/deck/things/a", headers=authorized("a-fresh-one")).status_code == 200
    assert client.post("/face", headers=authorized("a-fresh-one")).status_code == 401
    assert client.delete("/deck/things/a", headers=authorized(DECK_TOKEN)).status_code == 200


def test_a_declaration_returns_the_view_itself():
    def view() -> None: ...

    assert access(Access.OPEN)(view) is view


def test_no_answer_and_no_setting_shows_a_token(client):
    for token in (MCP_TOKEN, DECK_TOKEN):
        assert token not in repr(client.application.extensions["mead.settings"])
        assert token not in client.post("/face", headers=authorized(token)).text
