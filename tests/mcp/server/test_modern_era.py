"""The stateless era: 2026-07-28."""

import base64
from typing import Any

import pytest

from mead.mcp.server.dispatcher import Dispatcher
from mead.mcp.server.envelope import decoded
from mead.mcp.server.tool import ServerTool, plain
from tests.helpers.mcp_messages import (
    META,
    MODERN_VERSION,
    answered,
    call,
    error,
    legacy,
    modern,
    request,
    result,
)

INFO = "io.modelcontextprotocol/serverInfo"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in META.items() if not name.endswith(key)}


@pytest.mark.parametrize(
    "message", [request("server/discover"), request("tools/list"), call("list_sessions")]
)
def test_every_result_says_what_it_is_and_who_sent_it(
    dispatcher: Dispatcher, message: dict[str, Any]
) -> None:
    answer = result(dispatcher, modern(message))
    assert answer["resultType"] == "complete"
    assert set(answer["_meta"][INFO]) == {"name", "title", "version"}


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_what_may_be_kept_says_how_long(dispatcher: Dispatcher, method: str) -> None:
    answer = result(dispatcher, modern(request(method)))
    assert answer["ttlMs"] >= 0
    assert answer["cacheScope"] == "private"
    assert "ttlMs" not in result(dispatcher, modern(call("list_sessions")))


def test_discovery_names_the_revision_and_the_tools(dispatcher: Dispatcher) -> None:
    answer = result(dispatcher, modern(request("server/discover")))
    assert answer["supportedVersions"] == [MODERN_VERSION]
    assert answer["capabilities"] == {"tools": {}}
    assert answer["instructions"]


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"]
)
def test_a_removed_or_unknown_method_is_not_found(dispatcher: Dispatcher, method: str) -> None:
    assert error(dispatcher, modern(request(method))) == (404, -32601, 1)


@pytest.mark.parametrize(
    "meta",
    [
        None,
        5,
        {},
        without("clientCapabilities"),
        {**META, "io.modelcontextprotocol/clientCapabilities": []},
        {**META, "io.modelcontextprotocol/protocolVersion": 20260728},
        {**META, "io.modelcontextprotocol/protocolVersion": None},
    ],
)
def test_a_request_that_does_not_describe_itself_is_refused(
    dispatcher: Dispatcher, meta: Any
) -> None:
    message = request("tools/list", {"_meta": meta})
    assert error(dispatcher, modern(message)) == (400, -32602, 1)


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (request("tools/list"), {"version": None}),
        (request("tools/list"), {"version": "2025-06-18"}),
        (request("tools/list"), {"version": "1999-01-01"}),
        (request("tools/list"), {"method": None}),
        (request("tools/list"), {"method": "TOOLS/LIST"}),
        (request("tools/list"), {"method": "tools/call"}),
        (call("list_sessions"), {"name": None}),
        (call("list_sessions"), {"name": "LIST_SESSIONS"}),
        (call("list_sessions"), {"name": "history"}),
        (request("tools/call", {"name": 5}), {"name": "5"}),
        (call("list_sessions"), {"name": "=?base64?!!?="}),
        (call("list_sessions"), {"name": "=?base64?/w==?="}),
    ],
)
def test_a_request_that_contradicts_its_headers_is_refused(
    dispatcher: Dispatcher, message: dict[str, Any], headers: dict[str, Any]
) -> None:
    assert error(dispatcher, modern(message, **headers)) == (400, -32020, 1)


def test_a_header_may_be_wrapped_in_base64(dispatcher: Dispatcher) -> None:
    wrapped = f"=?base64?{base64.b64encode(b'list_sessions').decode()}?="
    assert result(dispatcher, modern(call("list_sessions"), name=wrapped))["isError"] is False
    assert decoded("=?base64?w7w=?=") == "ü"
    assert decoded("=?base64?") == "=?base64?"


@pytest.mark.parametrize("version", ["2027-01-01", "2025-06-18", "x" * 500])
def test_a_revision_that_is_not_served_is_refused(dispatcher: Dispatcher, version: str) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": version}
    message = request("tools/list", {"_meta": meta})
    status, answer = answered(dispatcher, modern(message, version=version))
    assert (status, answer["error"]["code"], answer["id"]) == (400, -32022, 1)
    data = {"supported": [MODERN_VERSION], "requested": version[:64]}
    assert answer["error"]["data"] == data


@pytest.mark.parametrize(
    "params",
    [
        {"name": None},
        {"name": "no_such_tool"},
        {"arguments": {}},
        {"name": "usage", "arguments": 5},
    ],
)
def test_params_of_the_wrong_shape_are_a_bad_request(
    dispatcher: Dispatcher, params: dict[str, Any]
) -> None:
    assert error(dispatcher, modern(request("tools/call", params))) == (400, -32602, 1)


def test_a_notification_is_accepted(dispatcher: Dispatcher) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    assert answered(dispatcher, legacy(message, version=MODERN_VERSION)) == (202, None)


def test_a_fault_of_a_tool_is_a_result(dispatcher: Dispatcher) -> None:
    answer = result(dispatcher, modern(call("history", {"session_id": "x"})))
    assert answer["isError"] is True
    assert answer["resultType"] == "complete"


def test_a_client_that_lacks_what_a_tool_needs_is_told() -> None:
    tool = ServerTool(
        name="asking",
        title="Asking",
        description="Asks its client.",
        input_schema={"type": "object"},
        run=lambda arguments, watch: plain("done"),
        needs=("sampling", "roots"),
    )
    dispatcher = Dispatcher([tool], "")
    able = {**META, "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "roots": {}}}
    assert result(dispatcher, modern(call("asking", _meta=able)))["isError"] is False
    some = {**META, "io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
    status, answer = answered(dispatcher, modern(call("asking", _meta=some)))
    assert (status, answer["id"], answer["error"]["code"]) == (400, 1, -32021)
    assert answer["error"]["data"] == {"requiredCapabilities": {"roots": {}}}
