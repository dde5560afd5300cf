"""`/deck/sessions` and below, `/deck/info`, `/deck/usage`, and the page's files."""

import orjson
import pytest

from mead.ids import new_session_id
from tests.blueprints.deck_app import page
from tests.helpers.server import MCP_TOKEN

TURN = {
    "id", "input", "output", "status", "error", "started_at", "finished_at", "durable", "route",
    "route_source", "route_reason", "provider", "model", "host", "usage", "tool_calls",
    "stop_reason", "warnings",
}  # fmt: skip


@pytest.fixture
def deck(tmp_path):
    with page(tmp_path) as one:
        yield one


# -- the list --------------------------------------------------------------------------------------


def test_a_conversation_is_listed_with_what_a_page_shows_of_it(deck):
    session_id = deck.conversation("hello")
    (row,) = deck.get("sessions").json["sessions"]
    assert row.pop("updated_at").endswith("Z")
    assert row == {
        "session_id": session_id,
        "title": None,
        "running": True,
        "turn_running": False,
        "queued": 0,
        "pending": 0,
    }


def test_a_conversation_is_named_and_the_name_stays(deck, tmp_path):
    session_id = deck.conversation("hello")
    answer = deck.ask("PATCH", f"sessions/{session_id}", json={"title": "  Tea ☕ "})
    assert answer.json == {"session_id": session_id, "title": "Tea ☕"}
    assert deck.get("sessions").json["sessions"][0]["title"] == "Tea ☕"
    assert (tmp_path / f"{session_id}.title").read_text() == "Tea ☕"


@pytest.mark.parametrize("title", [None, "", 3, "a\nb", "x" * 201])
def test_what_is_no_title_is_a_400(deck, title):
    session_id = deck.conversation("hello")
    body = {} if title is None else {"title": title}
    answer = deck.ask("PATCH", f"sessions/{session_id}", json=body)
    assert (answer.status_code, answer.json["error"]) == (400, "invalid_input")


def test_a_conversation_is_stopped_then_deleted_for_good(deck):
    session_id = deck.conversation("hello")
    assert deck.post(f"sessions/{session_id}/stop").status_code == 204
    assert deck.get("sessions").json["sessions"][0]["running"] is False
    assert deck.post(f"sessions/{session_id}/stop").status_code == 404
    assert deck.ask("DELETE", f"sessions/{session_id}").status_code == 204
    assert deck.get("sessions").json["sessions"] == []
    assert deck.ask("DELETE", f"sessions/{session_id}").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "sessions/{}"),
        ("DELETE", "sessions/{}"),
        ("POST", "sessions/{}/stop"),
        ("GET", "sessions/{}/history"),
        ("GET", "sessions/{}/export"),
    ],
)
@pytest.mark.parametrize("session_id", [new_session_id(), "x", "..", "%2e%2e%2fmead.lock"])
def test_a_conversation_that_is_not_there_is_a_404(deck, method, path, session_id):
    options = {"json": {"title": "x"}} if method == "PATCH" else {}
    assert deck.ask(method, path.format(session_id), **options).status_code == 404


# -- reading ---------------------------------------------------------------------------------------


def test_the_history_has_every_field_of_a_turn(deck):
    session_id = deck.conversation("hello")
    answer = deck.get(f"sessions/{session_id}/history").json
    (turn,) = answer["turns"]
    assert set(turn) == TURN
    assert (turn["input"], turn["output"], turn["status"]) == ("hello", "hello", "completed")
    assert (answer["total"], answer["next_before"]) == (1, None)


def test_the_history_is_read_backwards_page_by_page(deck):
    session_id = deck.conversation(*(str(number) for number in range(7)))
    seen, before = [], None
    while True:
        query = {"limit": 3} if before is None else {"limit": 3, "before": before}
        found = deck.get(f"sessions/{session_id}/history", query_string=query).json
        seen = [turn["input"] for turn in found["turns"]] + seen
        if (before := found["next_before"]) is None:
            break
    assert seen == ["0", "1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "before=x"])
def test_a_page_that_cannot_be_is_a_400(deck, query):
    session_id = deck.conversation("hello")
    assert deck.get(f"sessions/{session_id}/history?{query}").status_code == 400


def test_an_export_is_a_file_that_no_browser_opens_and_no_cache_keeps(deck):
    session_id = deck.conversation("hello", "<script>")
    answer = deck.get(f"sessions/{session_id}/export")
    assert [orjson.loads(line)["input"] for line in answer.data.splitlines()] == [
        "hello",
        "<script>",
    ]
    disposition = f'attachment; filename="{session_id}.jsonl"'
    assert answer.headers["Content-Disposition"] == disposition
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    markdown = deck.get(f"sessions/{session_id}/export?format=markdown")
    assert markdown.content_type == "text/markdown; charset=utf-8"
    assert "## You, " in markdown.text
    assert deck.get(f"sessions/{session_id}/export?format=pdf").status_code == 400


def test_the_usage_is_the_ledgers(deck):
    deck.conversation("hello")
    found = deck.get("usage").json
    assert set(found) >= {"totals", "routes", "days", "recent"}
    assert deck.get("usage?recent=101").status_code == 400


def test_the_info_says_where_a_turn_would_go():
    slots = {"local": {"provider": "scripted", "model": "m", "script": ["hi"]}}
    with page(router={"slots": slots}) as deck:
        info = deck.get("info").json
    assert info["slots"] == {
        "local": {"provider": "scripted", "model": "m", "host": None},
        "cloud": None,
    }
    assert info["default_route"] == "local"
    assert info["policy_levels"] == ["ask_for_all", "ask_for_risky", "allow_all", "read_only"]
    assert info["default_policy_level"] == "ask_for_risky"
    assert info["limits"]["frame_bytes"] == 65_536
    assert info["durable"] is False
    assert info["version"]


@pytest.mark.parametrize("path", ["info", "usage", "sessions", "sessions/x/history"])
def test_nothing_is_told_without_the_deck_token(deck, path):
    assert deck.get(path, token=None).status_code == 401
    assert deck.get(path, token=MCP_TOKEN).status_code == 401


def test_the_page_of_an_allowed_origin_may_ask():
    with page(mcp_server={"allowed_origins": ["https://app.example"]}) as deck:
        ours = {"Origin": "https://app.example"}
        allowed = deck.ask("OPTIONS", "sessions/x", token=None, headers=ours)
        assert allowed.status_code == 204
        assert allowed.headers["Access-Control-Allow-Methods"] == "DELETE, PATCH"
        refused = deck.get("info", token=None, headers=ours)
        assert refused.status_code == 401
        assert refused.headers["Access-Control-Allow-Origin"] == "https://app.example"


# -- the page --------------------------------------------------------------------------------------


def test_the_page_is_there_for_anyone_who_names_this_host(deck):
    answer = deck.get("", token=None)
    assert answer.content_type == "text/html; charset=utf-8"
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert deck.get("main.js", token=None).content_type == "text/javascript; charset=utf-8"
    assert deck.get("", token=None, headers={"Host": "evil.example"}).status_code == 403


def test_the_address_without_its_slash_leads_to_the_page_behind_any_prefix(deck):
    answer = deck.client.get("/deck", headers={"Host": "localhost"})
    assert (answer.status_code, answer.headers["Location"]) == (308, "deck/")


def test_the_servers_name_alone_leads_to_the_page_behind_any_prefix(deck):
    answer = deck.client.get("/", headers={"Host": "localhost"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "deck/")
    assert answer.data == b""
    assert deck.client.get("/", headers={"Host": "evil.example"}).status_code == 403
    evil = {"Host": "localhost", "Origin": "https://evil.example"}
    assert deck.client.get("/", headers=evil).status_code == 403
    assert deck.client.post("/", headers={"Host": "localhost"}).status_code == 405


@pytest.mark.parametrize("path", ["nothing", "../wsgi.py", "vendor/", "%2e%2e/deck.py", "views"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_what_is_no_file_of_the_page_is_a_404(deck, method, path):
    assert deck.ask(method, path).status_code == 404
