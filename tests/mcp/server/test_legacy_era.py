"""The handshake era: 2025-03-26, 2025-06-18 and 2025-11-25."""

import json
from typing import Any

import pytest

from mead.mcp.server.dispatcher import Dispatcher
from mead.mcp.server.envelope import Incoming
from tests.helpers.mcp_messages import (
    LEGACY_VERSIONS,
    answered,
    call,
    error,
    legacy,
    request,
    result,
)


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_initialize_agrees_to_each_revision(dispatcher: Dispatcher, version: str) -> None:
    asked = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test"}}
    answer = result(dispatcher, legacy(request("initialize", asked), version=None))
    assert answer["protocolVersion"] == version
    assert answer["capabilities"] == {"tools": {}}
    assert answer["serverInfo"]["name"] == "mead"
    assert "resultType" not in answer


@pytest.mark.parametrize("version", ["2026-07-28", "2024-11-05", "1999-01-01", 7, None])
def test_initialize_offers_the_newest_handshake_revision(
    dispatcher: Dispatcher, version: Any
) -> None:
    asked = {"protocolVersion": version}
    answer = result(dispatcher, legacy(request("initialize", asked), version=None))
    assert answer["protocolVersion"] == "2025-11-25"


def test_initialize_takes_a_version_header_and_no_params(dispatcher: Dispatcher) -> None:
    answer = result(dispatcher, legacy(request("initialize"), version="2025-11-25"))
    assert answer["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", [None, *LEGACY_VERSIONS])
def test_no_handshake_is_needed(dispatcher: Dispatcher, version: str | None) -> None:
    assert result(dispatcher, legacy(request("ping"), version=version)) == {}
    tools = result(dispatcher, legacy(request("tools/list"), version=version))
    assert len(tools["tools"]) == 9
    assert set(tools) == {"tools"}


@pytest.mark.parametrize("id_", [1, 0, -5, "seven", "", 2**63])
def test_the_answer_has_the_id_of_the_request(dispatcher: Dispatcher, id_: Any) -> None:
    _, message = answered(dispatcher, legacy(request("ping", id_=id_)))
    assert message == {"jsonrpc": "2.0", "id": id_, "result": {}}


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "start_session"}},
        {"jsonrpc": "2.0", "method": "nothing/known", "params": 5},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "no"}},
    ],
)
def test_what_wants_no_answer_is_accepted(dispatcher: Dispatcher, message: Any) -> None:
    assert answered(dispatcher, legacy(message)) == (202, None)


@pytest.mark.parametrize(
    "method",
    [
        "server/discover",
        "resources/list",
        "prompts/list",
        "logging/setLevel",
        "subscriptions/listen",
        "",
        "PING",
    ],
)
def test_an_unknown_method_is_an_error_in_a_200(dispatcher: Dispatcher, method: str) -> None:
    assert error(dispatcher, legacy(request(method))) == (200, -32601, 1)


@pytest.mark.parametrize(
    "params",
    [
        [],
        "text",
        5,
        {},
        {"name": None},
        {"name": 5},
        {"name": "no_such_tool"},
        {"name": "history", "arguments": []},
        {"name": "history", "arguments": "text"},
        {"name": "history", "_meta": {"progressToken": {}}},
        {"name": "history", "_meta": {"progressToken": True}},
    ],
)
def test_params_of_the_wrong_shape_are_an_error_in_a_200(
    dispatcher: Dispatcher, params: Any
) -> None:
    assert error(dispatcher, legacy(request("tools/call", params))) == (200, -32602, 1)


def test_the_list_of_tools_has_one_page(dispatcher: Dispatcher) -> None:
    assert error(dispatcher, legacy(request("tools/list", {"cursor": "x"}))) == (200, -32602, 1)
    assert error(dispatcher, legacy(request("tools/list", []))) == (200, -32602, 1)


@pytest.mark.parametrize("arguments", [{"arguments": {}}, {"arguments": None}, {}])
def test_arguments_may_be_left_out(dispatcher: Dispatcher, arguments: dict[str, Any]) -> None:
    answer = result(
        dispatcher, legacy(request("tools/call", {"name": "list_sessions", **arguments}))
    )
    assert answer["isError"] is False


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe{}", -32700),
        (json.dumps(request("ping")).encode("utf-16"), -32700),
        (b'{"a": NaN}', -32700),
        (b"[" * 5000 + b"]" * 5000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700),
        (b"[]", -32600),
        (json.dumps([request("ping")]).encode(), -32600),
        (b"5", -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}', -32600),
    ],
)
def test_what_is_no_message_is_refused_without_an_id(
    dispatcher: Dispatcher, body: bytes, code: int
) -> None:
    incoming = Incoming(body=body, version="2025-06-18")
    assert error(dispatcher, incoming) == (400, code, "none")


@pytest.mark.parametrize("version", ["2024-11-05", "1999-01-01", "", "2025-06-18, 2025-06-18"])
@pytest.mark.parametrize("method", ["ping", "initialize", "tools/call"])
def test_a_revision_that_is_not_served_is_refused(
    dispatcher: Dispatcher, version: str, method: str
) -> None:
    status, message = answered(dispatcher, legacy(request(method), version=version))
    assert (status, message["error"]["code"], message["id"]) == (400, -32022, 1)
    assert message["error"]["data"] == {"supported": ["2026-07-28"], "requested": version}


def test_a_notification_of_a_revision_that_is_not_served_is_refused(
    dispatcher: Dispatcher,
) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert error(dispatcher, legacy(message, version="1999-01-01")) == (400, -32022, "none")


def test_a_call_answers_with_json_twice(dispatcher: Dispatcher) -> None:
    answer = result(dispatcher, legacy(call("list_sessions")))
    assert answer["structuredContent"] == {"sessions": [], "next_cursor": None}
    (content,) = answer["content"]
    assert content["type"] == "text"
    assert json.loads(content["text"]) == answer["structuredContent"]
    assert set(answer) == {"structuredContent", "content", "isError"}
