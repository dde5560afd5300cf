"""The nine tools over a real runtime."""

import re
from typing import Any

import gevent
import pytest

from mead import Mead
from mead.errors import TurnFailed
from mead.ids import new_uuid
from mead.mcp.server.dispatcher import Dispatcher
from mead.mcp.server.tools import INSTRUCTIONS, session_tools
from mead.providers.errors import SENTENCES
from tests.helpers.mcp_messages import call, legacy, request, result
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually
from tests.mcp.server.conftest import Call

NAMES = [
    "list_sessions",
    "start_session",
    "submit_turn",
    "history",
    "stop_session",
    "resume_session",
    "delete_session",
    "compact_session",
    "usage",
]


# -- what is offered -------------------------------------------------------------------------------


def test_nine_tools_are_offered_a_harmless_one_first(dispatcher: Dispatcher) -> None:
    tools = result(dispatcher, legacy(request("tools/list")))["tools"]
    assert [tool["name"] for tool in tools] == NAMES
    assert tools[0]["annotations"]["readOnlyHint"] is True
    for tool in tools:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,48}", tool["name"])
        assert tool["title"] == tool["annotations"]["title"]
        assert tool["description"]
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
            assert not {"anyOf", "oneOf", "allOf", "$schema"} & set(schema)
        assert tool["inputSchema"]["additionalProperties"] is False


def test_the_arguments_are_those_of_the_specification(dispatcher: Dispatcher) -> None:
    tools = result(dispatcher, legacy(request("tools/list")))["tools"]
    shown = {
        tool["name"]: {
            name + ("" if name in tool["inputSchema"].get("required", ()) else "?")
            for name in tool["inputSchema"].get("properties", ())
        }
        for tool in tools
    }
    assert shown == {
        "list_sessions": {"limit?", "cursor?"},
        "start_session": {"handler?", "turn_timeout_ms?"},
        "submit_turn": {"session_id", "input", "route?", "tools?"},
        "history": {"session_id", "limit?", "before?"},
        "stop_session": {"session_id"},
        "resume_session": {"session_id", "handler?", "turn_timeout_ms?"},
        "delete_session": {"session_id"},
        "compact_session": {"session_id"},
        "usage": {"recent?", "session_id?"},
    }
    start = tools[1]["inputSchema"]["properties"]
    assert start["handler"]["enum"] == ["router", "echo", "puppet"]
    assert (start["turn_timeout_ms"]["minimum"], start["turn_timeout_ms"]["maximum"]) == (
        1,
        3600000,
    )
    prompt = tools[2]["inputSchema"]["properties"]["input"]
    assert (prompt["minLength"], prompt["maxLength"]) == (1, 100_000)


def test_only_what_removes_something_is_called_destructive(dispatcher: Dispatcher) -> None:
    tools = result(dispatcher, legacy(request("tools/list")))["tools"]
    hints = {tool["name"]: tool["annotations"] for tool in tools}
    assert [name for name in NAMES if hints[name].get("destructiveHint")] == ["delete_session"]
    read_only = [name for name in NAMES if hints[name]["readOnlyHint"]]
    assert read_only == ["list_sessions", "history", "usage"]


# -- a conversation's life -------------------------------------------------------------------------


def test_a_conversation_from_its_start_to_its_deletion(ask: Call, fault: Call) -> None:
    session_id = ask("start_session")["session_id"]
    answer = ask("submit_turn", session_id=session_id, input="hello")
    assert answer["output"] == "hello"
    assert answer["turn"]["status"] == "completed"
    history = ask("history", session_id=session_id)
    assert history == {"turns": [answer["turn"]], "total": 1, "next_before": None}
    (row,) = ask("list_sessions")["sessions"]
    assert (row["session_id"], row["running"]) == (session_id, True)
    assert ask("stop_session", session_id=session_id) == {"session_id": session_id, "stopped": True}
    assert ask("list_sessions")["sessions"][0]["running"] is False
    assert ask("history", session_id=session_id)["turns"] == [answer["turn"]]
    sizes = ask("compact_session", session_id=session_id)
    assert sizes["bytes_after"] < sizes["bytes_before"]
    assert ask("resume_session", session_id=session_id) == {"session_id": session_id}
    assert ask("history", session_id=session_id)["turns"][0]["output"] == "hello"
    deleted = ask("delete_session", session_id=session_id)
    assert deleted == {"session_id": session_id, "deleted": True}
    assert fault("history", session_id=session_id).startswith("not_found: ")


def test_a_session_has_the_handler_and_the_time_that_were_asked_for(ask: Call, fault: Call) -> None:
    session_id = ask("start_session", handler="puppet", turn_timeout_ms=20)["session_id"]
    assert fault("submit_turn", session_id=session_id, input="hold") == (
        "timeout: the turn took longer than its session allows (turn_timeout_ms)"
    )
    assert ask("history", session_id=session_id)["turns"][0]["status"] == "timeout"


def test_route_and_effect_reach_the_turn(mead: Mead, puppet: Puppet) -> None:
    seen: list[Any] = []

    class Handler(Puppet):
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            seen.append((context.route, context.tools))
            return text

    with Mead(handlers={"seeing": Handler()}) as runtime:
        tools = session_tools(runtime, handlers=("seeing",), allow_effect=True)
        dispatcher = Dispatcher(tools, INSTRUCTIONS)
        session_id = runtime.start_session(handler="seeing")
        arguments = {"session_id": session_id, "input": "x", "route": "local", "tools": "effect"}
        assert result(dispatcher, legacy(call("submit_turn", arguments)))["isError"] is False
        bare = {"session_id": session_id, "input": "x"}
        result(dispatcher, legacy(call("submit_turn", bare)))
    assert seen == [("local", "effect"), (None, None)]


def test_effect_runs_nothing_unless_the_operator_allows_it(
    ask: Call, fault: Call, puppet: Puppet
) -> None:
    session_id = ask("start_session", handler="puppet")["session_id"]
    told = fault("submit_turn", session_id=session_id, input="x", tools="effect")
    assert "allow_effect" in told
    assert puppet.started == []
    assert ask("history", session_id=session_id)["turns"] == []


def test_usage_is_counted_per_session_and_in_all(ask: Call, fault: Call) -> None:
    usage = ask("usage")
    assert set(usage) == {"totals", "routes", "days", "recent"}
    assert usage["totals"]["dropped"] == 0
    session_id = ask("start_session")["session_id"]
    assert fault("usage", session_id=session_id) == (
        "not_found: nothing was counted for that session"
    )


# -- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("list_sessions", {"limit": 0}, "limit: must be a whole number from 1 to 200"),
        ("list_sessions", {"limit": "5"}, "limit: must be a whole number from 1 to 200"),
        ("list_sessions", {"limit": True}, "limit: must be a whole number from 1 to 200"),
        ("list_sessions", {"limit": 1.5}, "limit: must be a whole number from 1 to 200"),
        ("list_sessions", {"limit": None}, "limit: must be a whole number from 1 to 200"),
        ("list_sessions", {"limit": 1e300}, "limit: must be a whole number from 1 to 200"),
        ("list_sessions", {"cursor": 5}, "cursor: must be a text"),
        ("list_sessions", {"cursor": "x"}, "cursor: must be the next_cursor of an earlier page"),
        (
            "list_sessions",
            {"all": True},
            "all: there is no such argument; allowed: limit, cursor",
        ),
        ("start_session", {"handler": "x"}, "handler: must be router or echo or puppet"),
        (
            "start_session",
            {"turn_timeout_ms": 0},
            "turn_timeout_ms: must be a whole number from 1 to 3600000",
        ),
        (
            "submit_turn",
            {"session_id": "x", "input": ""},
            "input: must be a text of 1 to 100000 characters",
        ),
        (
            "submit_turn",
            {"session_id": "x", "input": "a" * 100_001},
            "input: must be a text of 1 to 100000 characters",
        ),
        (
            "submit_turn",
            {"input": 5, "route": "moon", "tools": "all"},
            "input: must be a text of 1 to 100000 characters\n"
            "route: must be auto or local or cloud\n"
            "session_id: is missing; it must be a text\n"
            "tools: must be effect",
        ),
        ("usage", {"recent": 101}, "recent: must be a whole number from 0 to 100"),
        ("usage", {"recent": -1}, "recent: must be a whole number from 0 to 100"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_allowed(
    fault: Call, name: str, arguments: dict[str, Any], told: str
) -> None:
    assert fault(name, **arguments) == f"invalid_input: {told}"


def test_of_arguments_that_do_not_exist_a_few_are_named_and_the_others_counted(fault: Call) -> None:
    names = [f"name{number:05}" for number in range(50_000)]
    told = fault("stop_session", **dict.fromkeys(names, 1)).splitlines()
    assert told[0].startswith("invalid_input: name00000: there is no such argument")
    assert told[8:] == ["session_id: is missing; it must be a text", "49992 more that do not exist"]


def test_a_whole_number_may_be_written_with_a_fraction_of_zero(ask: Call) -> None:
    assert ask("list_sessions", limit=5.0)["sessions"] == []


@pytest.mark.parametrize("name", NAMES[2:])  # the two before take no session_id
@pytest.mark.parametrize("session_id", [new_uuid(), "../../etc/passwd", "\0", "", "x" * 70_000])
def test_a_session_that_does_not_exist_is_not_found(
    fault: Call, name: str, session_id: str
) -> None:
    more = {"input": "x"} if name == "submit_turn" else {}
    assert fault(name, session_id=session_id, **more).startswith("not_found: ")


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("raise", "failed (handler_crashed): the turn handler crashed"),
        ("exit", "failed (handler_crashed): the turn handler crashed"),
        ("garbage", "failed (bad_output): the turn handler returned something that is not text"),
        ("fail", "failed (provider_error): the model's service failed"),
        ("   ", "invalid_input: input is empty; say something"),
    ],
)
def test_a_failed_turn_is_told_in_fixed_words(
    ask: Call, fault: Call, prompt: str, told: str
) -> None:
    session_id = ask("start_session", handler="puppet")["session_id"]
    assert fault("submit_turn", session_id=session_id, input=prompt) == told


def test_a_reason_that_only_its_handler_knows_is_not_told(mead: Mead, fault: Call) -> None:
    class Handler:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            raise TurnFailed("the model said a secret", "the model said a secret")

    session_id = mead.start_session(handler=Handler())
    assert fault("submit_turn", session_id=session_id, input="x") == "failed: the turn failed"


def test_every_reason_of_a_provider_has_its_words(mead: Mead, fault: Call) -> None:
    class Handler:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            raise TurnFailed(text)

    session_id = mead.start_session(handler=Handler())
    for reason in SENTENCES:
        told = fault("submit_turn", session_id=session_id, input=reason)
        assert told.startswith(f"failed ({reason}): ")


def test_a_full_queue_is_busy_and_a_stop_ends_the_wait(
    ask: Call, fault: Call, mead: Mead, puppet: Puppet
) -> None:
    session_id = ask("start_session", handler="puppet")["session_id"]
    held = [
        gevent.spawn(fault, "submit_turn", session_id=session_id, input="hold") for _ in range(11)
    ]
    eventually(lambda: puppet.started)
    gevent.idle()
    assert fault("submit_turn", session_id=session_id, input="x").startswith("busy: ")
    ask("stop_session", session_id=session_id)
    gevent.joinall(held, timeout=5, raise_error=True)
    assert {one.value for one in held} == {"session_stopped: the session was stopped"}


def test_a_running_session_cannot_be_resumed(ask: Call, fault: Call) -> None:
    session_id = ask("start_session")["session_id"]
    assert fault("resume_session", session_id=session_id).startswith("already_running: ")


def test_one_session_too_many_is_refused() -> None:
    with Mead({"runtime": {"maximum_sessions": 1}}) as runtime:
        dispatcher = Dispatcher(
            session_tools(runtime, handlers=("echo",), allow_effect=False), INSTRUCTIONS
        )
        runtime.start_session()
        answer = result(dispatcher, legacy(call("start_session")))
    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith("max_children: the session could not be started")


def test_a_runtime_that_does_not_run_is_an_error_of_the_tool() -> None:
    tools = session_tools(Mead(), handlers=("echo",), allow_effect=False)
    dispatcher = Dispatcher(tools, INSTRUCTIONS)
    for name in ("list_sessions", "start_session", "usage"):
        assert result(dispatcher, legacy(call(name)))["isError"] is True


def test_a_bug_is_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def list_sessions(self) -> Any:
            raise RuntimeError("Authorization: Bearer a-secret")

    tools = session_tools(Broken(), handlers=("echo",), allow_effect=False)
    reply = Dispatcher(tools, INSTRUCTIONS).answer(legacy(call("list_sessions")))
    assert reply.status == 500
    assert reply.body == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}'
    )
    assert [record.getMessage() for record in caplog.records] == [
        "a bug in an MCP request: RuntimeError"
    ]
    assert caplog.records[0].exc_info is None
