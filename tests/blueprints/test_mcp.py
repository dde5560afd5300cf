"""The MCP face of a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.mcp_http import AUTHORIZED, post, raw_post, use, watch
from tests.helpers.mcp_messages import (
    LEGACY_VERSIONS,
    META,
    call,
    modern_headers,
    request,
)
from tests.helpers.server import MCP_TOKEN, Server, receive_all, running
from tests.helpers.waiting import eventually

pytestmark = pytest.mark.e2e

SLOW_MODEL = """
[router.slots.local]
provider = "scripted"
model = "slow"
script = [{ chunks = ["Once", " upon", " a time"], delay_ms = 400 }]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("server")
    toml = f"""
[storage]
directory = "{directory}/store"
[mcp_server]
token = "{MCP_TOKEN}"
{SLOW_MODEL}
"""
    with running(Server(directory, toml)) as started:
        yield started


def submit(server: Server, prompt: str, **more: Any) -> dict[str, Any]:
    session_id = use(server, "start_session", **more)["session_id"]
    return {"session_id": session_id, "input": prompt}


# -- messages over HTTP ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, *LEGACY_VERSIONS])
def test_every_handshake_revision_is_served(server: Server, version: str | None) -> None:
    asked = {"protocolVersion": version or "2025-03-26", "capabilities": {}}
    answer = post(server, request("initialize", asked))
    assert answer.json()["result"]["protocolVersion"] == asked["protocolVersion"]
    assert "Mcp-Session-Id" not in answer.headers
    headers = {"MCP-Protocol-Version": version, "Mcp-Session-Id": "x", "Last-Event-ID": "7"}
    accepted = post(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
    assert (accepted.status_code, accepted.content) == (202, b"")
    listed = post(server, request("tools/list"), **headers)
    assert listed.status_code == 200
    assert listed.headers["Content-Type"] == "application/json"
    assert len(listed.json()["result"]["tools"]) == 9


def test_the_stateless_revision_is_served(server: Server) -> None:
    for message in (request("server/discover", {}), request("tools/list", {}), call("usage")):
        headers = modern_headers(message)
        message["params"]["_meta"] = META
        answer = post(server, message, **headers)
        assert answer.json()["result"]["resultType"] == "complete"
        del headers["Mcp-Method"]
        answer = post(server, message, **headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)
    removed = request("ping", {"_meta": META})
    assert post(server, removed, **modern_headers(removed)).status_code == 404


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream", "x"])
def test_any_accept_header_is_taken(server: Server, accept: str | None) -> None:
    answer = post(server, request("ping"), Accept=accept)
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "PATCH"])
def test_only_post_is_served(server: Server, method: str) -> None:
    answer = server.request(method, "/mcp", headers=AUTHORIZED)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_without_the_token_nothing_is_served(server: Server) -> None:
    for header in (None, "Bearer", "Bearer wrong", f"Basic {MCP_TOKEN}", MCP_TOKEN):
        answer = post(server, request("ping"), Authorization=header)
        assert (answer.status_code, answer.content) == (401, b"")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("type_", "status"),
    [
        (None, 415),
        ("text/plain", 415),
        ("application/jsonx", 415),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
    ],
)
def test_only_json_is_taken(server: Server, type_: str | None, status: int) -> None:
    assert post(server, request("ping"), **{"Content-Type": type_}).status_code == status


def test_a_body_may_be_a_mebibyte_and_not_a_byte_more(server: Server) -> None:
    padded = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
    for size, status in ((1_048_576, 200), (1_048_577, 413)):
        body = padded + b"x" * (size - len(padded) - 3) + b'"}}'
        assert post(server, body).status_code == status
        assert post_in_chunks(server, body) == status


def post_in_chunks(server: Server, body: bytes) -> int:
    """The status of the answer to a chunked body."""
    pieces = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
    headers = {"Content-Type": "application/json", **AUTHORIZED}
    return server.request("POST", "/mcp", data=pieces, headers=headers).status_code


def test_what_clients_look_for_beside_the_endpoint_is_not_there(server: Server) -> None:
    for path in (
        "/.well-known/oauth-protected-resource",
        "/.well-known/x/mcp",
        "/sse",
        "/messages",
    ):
        answer = server.get(path)
        assert answer.status_code == 404
        assert "html" not in answer.headers.get("Content-Type", "")


def test_a_page_of_another_host_gets_nothing(server: Server) -> None:
    answer = post(server, request("initialize"), Host="evil.example", Origin="http://evil.example")
    assert answer.status_code == 403


def test_without_a_token_there_is_no_route_and_one_line_says_so(tmp_path: Path) -> None:
    with running(Server(tmp_path)) as server:
        assert post(server, request("ping")).status_code == 404
        assert server.log.count("no mcp_server.token: /mcp is not served") == 1


# -- conversations ---------------------------------------------------------------------------------


def test_a_conversation_over_http(server: Server) -> None:
    arguments = submit(server, "hello", handler="echo")
    assert use(server, "submit_turn", **arguments)["output"] == "hello"
    id_ = arguments["session_id"]
    assert use(server, "history", session_id=id_)["turns"][0]["input"] == "hello"
    assert use(server, "delete_session", session_id=id_)["deleted"] is True
    answer = post(server, call("history", {"session_id": id_})).json()["result"]
    assert answer["content"][0]["text"] == "not_found: there is no session with that id"


def test_progress_is_streamed_and_then_the_answer(server: Server) -> None:
    message = call("submit_turn", submit(server, "x"), _meta={"progressToken": "p"})
    connection, events = watch(server, message)
    with connection:
        shown = list(events)
    assert shown[0] is None
    progress = [event["params"] for event in shown[1:-1]]
    assert [one["message"] for one in progress] == ["Once", "Once upon", "Once upon a time"][
        : len(progress)
    ]
    assert len(progress) >= 2
    assert {one["progressToken"] for one in progress} == {"p"}
    assert shown[-1]["result"]["structuredContent"]["output"] == "Once upon a time"


@pytest.mark.parametrize("watched", [True, False])
def test_a_client_that_goes_away_does_not_abort_the_turn(server: Server, watched: bool) -> None:
    arguments = submit(server, "x")
    message = call("submit_turn", arguments, _meta={"progressToken": 1})
    if watched:
        connection, events = watch(server, message)
        next(events)
    else:
        connection = server.connect()
        connection.sendall(raw_post(json.dumps(message).encode()))
        eventually(lambda: use(server, "history", session_id=arguments["session_id"])["turns"])
    connection.close()

    def turn() -> Any:
        turns = use(server, "history", session_id=arguments["session_id"])["turns"]
        return turns[0] if turns and turns[0]["status"] != "running" else None

    assert eventually(turn)["output"] == "Once upon a time"


def test_a_connection_is_kept_and_two_requests_may_come_at_once(server: Server) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    with server.connect() as connection:
        connection.sendall(raw_post(body) + raw_post(body, "Connection: close"))
        received = receive_all(connection)
    assert received.count(b"HTTP/1.1 200 OK") == 2


def test_no_prompt_and_no_token_is_in_the_log(server: Server) -> None:
    prompt = "a prompt that nobody may read"
    use(server, "submit_turn", **submit(server, prompt, handler="echo"))
    post(server, call("submit_turn", {"input": prompt, "session_id": prompt, prompt: 1}))
    post(server, request(prompt))
    post(server, prompt.encode())
    assert "nobody may read" not in server.log
    assert MCP_TOKEN not in server.log
