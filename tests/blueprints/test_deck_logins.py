"""`POST /deck/login`: a code becomes a token that is as good as the operator's."""

import pytest
from werkzeug.test import TestResponse

from mead.api import Mead
from mead.deck.refusals import TicketRefused
from mead.errors import InvalidInput
from tests.blueprints.deck_app import Page, page
from tests.helpers.server import DECK_TOKEN


@pytest.fixture
def deck(tmp_path):
    with page(tmp_path) as one:
        yield one


def login(deck: Page, code: object) -> TestResponse:
    return deck.post("login", token=None, json={"code": code})


def test_a_code_becomes_a_token_that_opens_the_deck_and_the_metrics(deck):
    answer = login(deck, deck.mead.deck().new_code())
    assert answer.status_code == 200
    assert answer.json["expires_in_ms"] == 30 * 86_400_000
    assert answer.headers["Cache-Control"] == "no-store"
    token = answer.json["token"]
    assert deck.get("info", token=token).status_code == 200
    assert deck.post("ticket", token=token).status_code == 200
    key = {"Host": "localhost", "Authorization": f"Bearer {token}"}
    assert deck.client.get("/metrics", headers=key).status_code == 200
    assert deck.client.post("/mcp", headers=key).status_code == 401


def test_a_code_is_good_once(deck):
    code = deck.mead.deck().new_code()
    assert login(deck, code).status_code == 200
    again = login(deck, code)
    assert (again.status_code, again.json["error"]) == (401, "unauthorized")
    assert again.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("code", [None, 7, [], {}])
def test_what_is_no_code_is_a_400(deck, code):
    assert login(deck, code).status_code == 400


def test_who_guesses_is_slowed_down_and_a_right_code_is_still_taken(deck):
    code = deck.mead.deck().new_code()
    answers = [login(deck, f"guess-{number}").status_code for number in range(12)]
    assert answers == [401] * 10 + [429] * 2
    assert login(deck, "another").headers["Retry-After"] == "60"
    assert login(deck, code).status_code == 200


def test_guesses_count_together_with_wrong_tokens(deck):
    for number in range(10):
        deck.get("info", token=f"wrong-{number}")
    assert login(deck, "guess").status_code == 429


def test_a_page_of_another_origin_cannot_log_in(deck):
    code = deck.mead.deck().new_code()
    foreign = {"Origin": "https://evil.example"}
    answer = deck.post("login", token=None, json={"code": code}, headers=foreign)
    assert answer.status_code == 403
    assert login(deck, code).status_code == 200


def test_a_token_outlives_the_server_and_ends_when_it_is_revoked(tmp_path):
    with page(tmp_path) as deck:
        token = login(deck, deck.mead.deck().new_code()).json["token"]
    with page(tmp_path) as deck:
        assert deck.get("info", token=token).status_code == 200
        assert deck.mead.deck().revoke() == 1
        assert deck.get("info", token=token).status_code == 401
        assert deck.get("info", token=DECK_TOKEN).status_code == 200
    with page(tmp_path) as deck:
        assert deck.get("info", token=token).status_code == 401


def test_a_ticket_that_was_given_before_a_revoke_is_worthless(deck):
    token = login(deck, deck.mead.deck().new_code()).json["token"]
    ticket = deck.post("ticket", token=token).json["ticket"]
    deck.mead.deck().revoke()
    with pytest.raises(TicketRefused):
        deck.mead.deck().redeem(ticket)
    assert deck.mead.status()["sessions"] == 0, "the place that it held is free"


def test_a_mead_without_a_deck_token_makes_no_code():
    with Mead() as mead, pytest.raises(InvalidInput, match=r"deck\.token is not set"):
        mead.deck().new_code()
