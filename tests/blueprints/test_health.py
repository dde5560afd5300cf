import pytest

from tests.blueprints.conftest import StandIn, authorized, make_app
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN


@pytest.mark.parametrize("headers", [{}, {"Host": "10.0.0.7:4040"}, {"Origin": "null"}])
@pytest.mark.parametrize("tokens", [True, False])
def test_probes_are_answered_to_anyone(tokens, headers):
    client = make_app(tokens=tokens).test_client()
    alive = client.get("/healthz", headers=headers)
    assert alive.status_code == 200
    assert alive.json["status"] == "ok"
    assert alive.json["hub"] == {"late_ms": 0.0, "late_max_ms": 0.0, "held": 0, "last_held": None}
    ready = client.get("/readyz", headers=headers)
    assert (ready.status_code, ready.json) == (200, {"ready": True})
    assert ready.headers["Cache-Control"] == "no-store"
    assert client.head("/readyz").status_code == 200


def test_a_runtime_that_takes_no_turns_is_not_ready():
    runtime = StandIn(ready=False)
    client = make_app(runtime).test_client()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json == {"ready": False, "reason": "not running"}
    assert client.get("/healthz").status_code == 200
    runtime.ready = True
    assert client.get("/readyz").status_code == 200


def test_a_worker_that_leaves_is_not_ready():
    app = make_app()
    app.extensions["mead.web"].connections.drain()
    answer = app.test_client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json == {"ready": False, "reason": "draining"}


@pytest.mark.parametrize(
    "path", ["/metrics", "/.well-known/oauth-authorization-server", "/", "/deck"]
)
def test_without_a_token_there_is_nothing_else(path):
    answer = make_app(tokens=False).test_client().get(path, headers=authorized())
    assert answer.status_code == 404
    assert answer.json == {"error": "not_found"}


@pytest.mark.parametrize("token", [MCP_TOKEN, DECK_TOKEN])
def test_the_metrics_are_shown_for_either_token(token):
    app = make_app(maximum_connections=17)
    client = app.test_client()
    client.get("/metrics", headers=authorized("wrong"))
    answer = client.get("/metrics", headers=authorized(token))
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    for line in (
        "mead_ready 1",
        "mead_sessions 3",
        "mead_turns 2",
        "mead_draining 0",
        "mead_connections 0",
        "mead_connections_limit 17",
        "mead_connections_refused_total 0",
        "mead_wrong_tokens_total 1",
        "mead_hub_late_seconds 0",
        "mead_hub_held_total 0",
        "# TYPE mead_wrong_tokens_total counter",
        "# HELP mead_sessions Conversations in memory.",
    ):
        assert line in lines
    assert token not in answer.text


def test_the_metrics_tell_of_the_process_and_round_nothing(tmp_path):
    app = make_app()
    app.extensions["mead.guards"].wrong.total = 12_345_678
    client = app.test_client()

    def metrics() -> dict[str, float]:
        lines = client.get("/metrics", headers=authorized()).text.splitlines()
        return {
            name: float(value) for name, value in (each.split() for each in lines if each[0] != "#")
        }

    before = metrics()
    assert before["mead_wrong_tokens_total"] == 12_345_678
    assert before["process_resident_memory_bytes"] > 1_000_000
    with (tmp_path / "one more").open("w"):
        after = metrics()
    assert after["process_open_fds"] == before["process_open_fds"] + 1
    assert after["process_cpu_seconds_total"] >= before["process_cpu_seconds_total"] > 0


def test_the_metrics_are_guarded():
    client = make_app().test_client()
    assert client.get("/metrics").status_code == 401
    assert (
        client.get("/metrics", headers=authorized() | {"Host": "evil.example"}).status_code == 403
    )


@pytest.mark.parametrize(
    "path", ["/mcp/", "//mcp", "/mcp//", "/healthz/", "/metrics/", "/deck/ticket/", "/deck//info"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_with_a_slash_too_many_is_not_found_and_leads_nowhere_else(method, path):
    headers = authorized(DECK_TOKEN if path.startswith("/deck") else MCP_TOKEN)
    answer = make_app().test_client().open(path, method=method, headers=headers)
    assert answer.status_code == 404
    assert answer.json == {"error": "not_found"}
    assert "Location" not in answer.headers
