"""The hub and servers on standard streams, real processes throughout."""

import json
import os
import signal

import gevent
import psutil
import pytest

from tests.helpers.mcp_settings import (
    fake_server,
    launcher_pid,
    received,
    running,
    status,
    wait_for,
)
from tests.helpers.waiting import eventually
from tests.mcp.client.asking import call

# -- which revision --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "revision"),
    [
        ({}, "2025-11-25"),
        ({"probe": -32602}, "2025-11-25"),
        ({"probe": -32000}, "2025-11-25"),
        ({"probe": "empty"}, "2025-11-25"),
        ({"probe": -32022, "probe_data": {"supported": ["2025-06-18"]}}, "2025-11-25"),
        ({"probe": -32022}, "2025-11-25"),
        ({"version": "2024-11-05"}, "2024-11-05"),
        ({"era": "modern"}, "2026-07-28"),
        ({"era": "dual"}, "2026-07-28"),
        ({"era": "dual", "versions": ["2025-11-25"]}, "2025-11-25"),
    ],
    ids=str,
)
def test_each_kind_of_server_is_spoken_to_in_its_own_revision(behaviour, revision):
    with running(fake_server(**behaviour)) as hub:
        assert status(hub).revision == revision
        assert call(hub, "echo", {"text": "hello"}).text == "hello"


def test_a_server_that_ignores_the_probe_is_initialized_in_the_same_process(tmp_path):
    record = tmp_path / "received"
    server = fake_server(probe="silence", record=str(record), handshake_timeout_ms=500)
    with running(server) as hub:
        assert status(hub).revision == "2025-11-25"
        methods = [message["method"] for message in received(record)]
    assert methods[:2] == ["server/discover", "initialize"]
    assert "notifications/cancelled" not in methods


def test_a_server_that_the_probe_ends_is_initialized_at_the_next_start():
    with running(fake_server(probe="exit")) as hub:
        assert status(hub).revision == "2025-11-25"


def test_a_revision_that_nobody_knows_is_not_spoken():
    with running(fake_server(version="1999-01-01"), ready=False) as hub:
        wait_for(hub, "fake", "waiting")
        assert status(hub).fault.startswith("incompatible")


def test_a_server_of_foreign_modern_revisions_is_incompatible():
    with running(fake_server(era="dual", versions=["2031-01-01"]), ready=False) as hub:
        wait_for(hub, "fake", "waiting")
        assert status(hub).fault.startswith("incompatible")


def test_every_modern_request_carries_its_revision(tmp_path):
    record = tmp_path / "received"
    with running(fake_server(era="modern", record=str(record))) as hub:
        call(hub, "echo", {"text": "x"})
        for message in received(record):
            meta = message["params"]["_meta"]
            assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            assert meta["io.modelcontextprotocol/clientCapabilities"] == {}


@pytest.mark.parametrize(
    ("version", "messages", "taken"),
    [
        ("2024-11-05", 100, True),
        ("2025-03-26", 100, True),
        ("2025-03-26", 101, False),
        ("2025-03-26", 40_000, False),
        ("2025-06-18", 2, False),
    ],
)
def test_an_array_of_messages_is_taken_from_the_oldest_alone_and_with_a_bound(
    version, messages, taken
):
    with running(fake_server(version=version)) as hub:
        assert call(hub, "batch", {"messages": messages}).is_error == taken


# -- the list of tools -----------------------------------------------------------------------------


def test_the_list_is_read_across_its_pages():
    server = fake_server(
        pages=[["echo"], ["big"], ["error"]], tools={"echo": "read", "error": "read"}
    )
    with running(server) as hub:
        assert [tool.name for tool in hub.tools_for(None)] == ["fake__echo", "fake__error"]
        assert [name for name, _ in status(hub).not_granted] == ["big"]


def test_a_list_that_runs_in_circles_ends():
    with running(fake_server(pages=[["echo"], ["big"]], loop=True)) as hub:
        assert {tool.tool for tool in hub.tools_for(None)} == {"echo", "big"}


def test_a_changed_list_is_read_again():
    tools = {"echo": "read", "change": "read", "fresh": "read"}
    with running(fake_server(tools=tools)) as hub:
        assert status(hub).missing == ("fresh",)
        call(hub, "change", {"tools": ["fresh"]})
        eventually(lambda: "fake__fresh" in {tool.name for tool in hub.tools_for(None)})
        assert call(hub, "fresh", {"text": "new"}).text == "new"


def test_a_flood_of_changes_is_one_or_two_readings(tmp_path):
    record = tmp_path / "received"
    tools = {"change": "read", "fresh": "read", "echo": "read"}
    with running(fake_server(tools=tools, record=str(record))) as hub:
        call(hub, "change", {"tools": ["fresh"], "times": 5000})
        eventually(lambda: "fake__fresh" in {tool.name for tool in hub.tools_for(None)})
        call(hub, "echo")
        lists = [one for one in received(record) if one.get("method") == "tools/list"]
        assert len(lists) <= 4


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_server_that_tells_of_a_change_whenever_it_is_asked_is_asked_seldom(tmp_path, era):
    record = tmp_path / "received"
    with running(fake_server(restless=True, era=era, record=str(record))) as hub:
        for _ in range(200):
            call(hub, "echo")
        lists = [one for one in received(record) if one.get("method") == "tools/list"]
        assert len(lists) <= 4


def test_a_server_that_has_no_list_of_tools_has_no_tools():
    with running(fake_server(unlisted=True)) as hub:
        assert status(hub).state == "ready"
        assert hub.tools_for(None) == ()


def test_a_modern_server_tells_of_changes_on_a_request_that_stays_open(tmp_path):
    record = tmp_path / "received"
    tools = {"change": "read", "fresh": "read"}
    server = fake_server(era="modern", announces=True, tools=tools, record=str(record))
    with running(server) as hub:
        eventually(lambda: received(record)[-1]["method"] == "subscriptions/listen")
        call(hub, "change", {"tools": ["fresh"]})
        eventually(lambda: "fake__fresh" in {tool.name for tool in hub.tools_for(None)})


def test_a_refresh_that_is_never_answered_ends_the_connection(tmp_path):
    record = tmp_path / "received"
    server = fake_server(
        pages=[["change"]], tools={"change": "read"}, record=str(record), handshake_timeout_ms=300
    )
    with running(server) as hub:
        first = launcher_pid(hub)
        os.kill(psutil.Process(first).children()[0].pid, signal.SIGSTOP)
        hub._catalog.line("fake").refresh()
        wait_for(hub, "fake", "waiting")
        assert hub.tools_for(None) == ()
        wait_for(hub, "fake", "ready")
        eventually(lambda: not psutil.pid_exists(first), bound_s=8)


# -- calls -----------------------------------------------------------------------------------------


def test_an_error_of_the_tool_is_an_error_outcome():
    with running(fake_server()) as hub:
        outcome = call(hub, "error")
        assert (outcome.text, outcome.is_error) == ("it went wrong", True)


def test_a_long_result_is_cut_with_a_marker():
    with running(fake_server()) as hub:
        outcome = call(hub, "big", {"size": 50_001})
        assert outcome.text == "x" * 50_000 + "\n[truncated: 1 more characters]"
        assert call(hub, "big", {"size": 50_000}).text == "x" * 50_000


def test_a_result_that_is_null_is_an_error():
    with running(fake_server()) as hub:
        assert call(hub, "null").text == "bad_response: the result is not a JSON object"


def test_a_call_that_takes_too_long_is_cancelled_at_the_server(tmp_path):
    record = tmp_path / "received"
    with running(fake_server(record=str(record), call_timeout_ms=200)) as hub:
        outcome = call(hub, "slow")
        assert outcome.is_error
        assert outcome.text.startswith("timeout")
        asked, gone = eventually(lambda: len(received(record)) >= 6 and received(record)[-2:])
        assert gone["method"] == "notifications/cancelled"
        assert gone["params"]["requestId"] == asked["id"]


def test_killing_the_caller_cancels_its_call_alone(tmp_path):
    record = tmp_path / "received"
    with running(fake_server(record=str(record))) as hub:
        killed = gevent.spawn(call, hub, "slow")
        other = gevent.spawn(call, hub, "slow")
        eventually(lambda: sum(one.get("method") == "tools/call" for one in received(record)) == 2)
        killed.kill()
        gone = eventually(
            lambda: [one for one in received(record) if one["method"] == "notifications/cancelled"]
        )
        assert len(gone) == 1
        assert not other.ready()
        assert call(hub, "echo", {"text": "on"}).text == "on"
        other.kill()


def test_a_late_answer_is_dropped():
    with running(fake_server(call_timeout_ms=100)) as hub:
        peer = hub._catalog.line("fake").peer
        assert call(hub, "late", {"seconds": 0.3}).is_error
        eventually(lambda: peer.dropped == 1)
        assert status(hub).state == "ready"


def test_a_servers_questions_are_answered():
    with running(fake_server()) as hub:
        ping, sampling = json.loads(call(hub, "ask").text)
        assert ping == {"jsonrpc": "2.0", "id": "a", "result": {}}
        assert sampling["error"]["code"] == -32601


def test_arguments_that_are_no_json_are_an_error_outcome():
    with running(fake_server()) as hub:
        assert call(hub, "echo", {"text": "\ud800"}).text.startswith("not_json")
        assert call(hub, "echo", {"text": "fine"}).text == "fine"


def test_an_argument_larger_than_the_pipe_arrives_whole():
    with running(fake_server()) as hub:
        assert len(call(hub, "echo", {"text": "y" * 40_000}).text) == 40_000
        calls = [gevent.spawn(call, hub, "echo", {"text": str(n) * 30_000}) for n in range(10)]
        gevent.joinall(calls)
        assert [one.value.text for one in calls] == [str(n) * 30_000 for n in range(10)]


def test_a_server_that_does_not_read_is_given_up():
    with running(fake_server(call_timeout_ms=500)) as hub:
        server = psutil.Process(launcher_pid(hub)).children()[0]
        server.suspend()
        calls = [gevent.spawn(call, hub, "echo", {"text": "z" * 4_000_000}) for _ in range(6)]
        gevent.joinall(calls)
        assert all(one.value.is_error for one in calls)
        assert any(one.value.text.startswith("connection_lost") for one in calls)
        server.resume()
