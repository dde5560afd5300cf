"""The hub and servers over HTTP, on real sockets."""

from contextlib import suppress
from dataclasses import replace

import gevent
import pytest

from mead.actors.tasks import TaskSupervisor
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.http import HttpTransport
from mead.mcp.jsonrpc import Notification
from tests.helpers.mcp_http_fake import (
    FakeHttp,
    Reply,
    error,
    http_server,
    result,
)
from tests.helpers.mcp_settings import running, status, wait_for
from tests.helpers.waiting import eventually
from tests.mcp.client.asking import call, listening, says

# -- which revision --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "probed",
    [
        lambda heard: error(heard, -32601),
        lambda heard: error(heard, -32602, 200),
        lambda heard: error(heard, -32000),
        lambda heard: Reply(400),
        lambda heard: Reply(404, b"<html>", "text/html"),
        lambda heard: Reply(405),
        lambda heard: result(heard, {}),
        lambda heard: error(heard, -32022, data={"supported": ["2025-06-18"]}),
    ],
)
def test_a_server_that_does_not_know_the_probe_is_legacy(probed):
    fake = FakeHttp()
    fake.on["server/discover"] = probed
    with fake.serving() as port, running(http_server(port)) as hub:
        assert status(hub).revision == "2025-11-25"
        assert says(hub)


def test_a_modern_server_needs_no_handshake():
    fake = FakeHttp(era="modern")
    with fake.serving() as port, running(http_server(port)) as hub:
        assert status(hub).revision == "2026-07-28"
        assert says(hub)
        assert fake.calls() == ["server/discover", "tools/list", "tools/call"]


@pytest.mark.parametrize("status_code", [500, 503])
def test_a_failing_probe_is_no_verdict(status_code):
    fake = FakeHttp()
    fake.on["server/discover"] = lambda heard: Reply(status_code)
    with fake.serving() as port, running(http_server(port), ready=False) as hub:
        wait_for(hub, "fake", "waiting")
        assert status(hub).fault == f"server_error: the server answered HTTP {status_code}"
        assert "initialize" not in fake.calls()


def test_initialize_refused_by_a_modern_server_leads_back_to_the_probe():
    fake = FakeHttp(era="modern")
    probes = iter([lambda heard: Reply(400)])
    fake.on["server/discover"] = lambda heard: next(probes, lambda _: None)(heard)
    fake.on["initialize"] = lambda heard: error(heard, -32022, data={"supported": ["2026-07-28"]})
    with fake.serving() as port, running(http_server(port)) as hub:
        assert status(hub).revision == "2026-07-28"


def test_a_handshake_whose_last_step_is_answered_without_end_is_given_up():
    def trickles(socket, address):
        socket.recv(65536)
        socket.sendall(b"HTTP/1.1 202 Accepted\r\nX-A: ")
        with suppress(OSError):
            while True:
                socket.sendall(b"a")
                gevent.sleep(0.02)

    with listening(trickles) as port, gevent.Timeout(5):
        tasks = TaskSupervisor("transport's tasks")
        transport = HttpTransport(http_server(port, handshake_timeout_ms=200), tasks)
        transport.open(object())
        with pytest.raises(ServerFault, match="timeout"):
            transport.send(Notification("notifications/initialized"))
        transport.close()


# -- headers ---------------------------------------------------------------------------------------


def test_legacy_requests_name_their_revision_after_the_handshake_and_never_their_method():
    fake = FakeHttp(sessions=True)
    with fake.serving() as port, running(http_server(port)) as hub:
        assert says(hub)
    handshake, call_ = fake.last("initialize"), fake.last("tools/call")
    assert "mcp-protocol-version" not in handshake.headers
    assert "mcp-session-id" not in handshake.headers
    assert call_.headers["mcp-protocol-version"] == "2025-11-25"
    assert call_.headers["mcp-session-id"] == "session-1"
    assert "mcp-method" not in call_.headers


def test_modern_requests_name_method_tool_and_marked_arguments_in_headers():
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "deep": {
                "type": "object",
                "properties": {"n": {"type": "integer", "x-mcp-header": "N"}},
            },
        },
    }
    fake = FakeHttp(era="modern", echo={"inputSchema": schema})
    with fake.serving() as port, running(http_server(port, tools={"echo": "read"})) as hub:
        call(hub, "echo", {"region": "Zürich", "dry": True, "deep": {"n": 7}, "text": "x"})
        headers = fake.last("tools/call").headers
        assert headers["mcp-method"] == "tools/call"
        assert headers["mcp-name"] == "echo"
        assert headers["mcp-param-region"] == "=?base64?WsO8cmljaA==?="
        assert headers["mcp-param-dry-run"] == "true"
        assert headers["mcp-param-n"] == "7"
        call(hub, "echo", {"region": None})
        assert not [name for name in fake.last("tools/call").headers if "mcp-param" in name]


def test_a_modern_tool_with_a_broken_mark_does_not_exist():
    broken = {"type": "object", "properties": {"x": {"type": "number", "x-mcp-header": "X"}}}
    fake = FakeHttp(era="modern", echo={}, big={"inputSchema": broken})
    with fake.serving() as port, running(http_server(port)) as hub:
        assert [tool.tool for tool in hub.tools_for(None)] == ["echo"]


def test_the_operators_headers_go_with_every_request():
    fake = FakeHttp()
    server = lambda port: http_server(port, headers={"Authorization": "Bearer t0ken"})  # noqa: E731
    with fake.serving() as port, running(server(port)) as hub:
        assert says(hub)
        assert {heard.headers["authorization"] for heard in fake.heard} == {"Bearer t0ken"}


def test_nothing_is_taken_from_the_environment(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password mine")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    fake = FakeHttp()
    with fake.serving() as port, running(http_server(port)) as hub:
        assert says(hub)
        assert "authorization" not in fake.last("tools/call").headers


def test_a_proxy_is_used_when_the_operator_names_one():
    fake = FakeHttp()
    with fake.serving() as port:
        proxy = f"http://127.0.0.1:{port}"
        with running(http_server(9, proxy=proxy)) as hub:
            assert says(hub)
            assert fake.last("tools/call").headers["host"] == "127.0.0.1:9"


# -- a tool that wants input first (modern) --------------------------------------------------------


def _wants(**more):
    return {"resultType": "input_required", **more}


ASKS = {"name": {"method": "elicitation/create", "params": {"message": "Who are you?"}}}


def test_what_a_person_would_be_asked_is_declined_and_the_call_goes_on():
    fake = FakeHttp(era="modern")
    fake.on["tools/call"] = lambda heard: (
        None
        if "inputResponses" in heard.message["params"]
        else result(heard, _wants(inputRequests=ASKS, requestState="opaque"))
    )
    with fake.serving() as port, running(http_server(port)) as hub:
        assert says(hub)
        params = fake.last("tools/call").message["params"]
        assert params["inputResponses"] == {"name": {"action": "decline"}}
        assert params["requestState"] == "opaque"
        assert params["arguments"] == {"text": "hello"}


def test_a_call_that_only_has_to_wait_is_sent_again_with_its_state():
    fake = FakeHttp(era="modern")
    fake.on["tools/call"] = lambda heard: (
        None
        if "requestState" in heard.message["params"]
        else result(heard, _wants(requestState="later"))
    )
    with fake.serving() as port, running(http_server(port)) as hub:
        assert says(hub)
        assert "inputResponses" not in fake.last("tools/call").message["params"]


@pytest.mark.parametrize(
    ("asks", "times"), [({"x": {"method": "sampling/createMessage"}}, 1), (ASKS, 10)]
)
def test_a_tool_that_cannot_be_satisfied_fails_clearly(asks, times):
    fake = FakeHttp(era="modern")
    fake.on["tools/call"] = lambda heard: result(heard, _wants(inputRequests=asks))
    with fake.serving() as port, running(http_server(port)) as hub:
        outcome = call(hub, "echo")
        assert outcome.is_error
        assert outcome.text.startswith("input_required")
        assert fake.calls().count("tools/call") == times


def test_a_list_whose_time_has_run_out_is_read_again_when_a_turn_looks():
    fake = FakeHttp(era="modern", echo={})
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.tools["big"] = {}
        hub.tools_for(None)
        assert fake.calls().count("tools/list") == 1
        line = hub._catalog.line("fake")
        assert line.stale_at is None  # this server gave its list no time
        hub._catalog.publish("fake", replace(line, stale_at=0.0))
        hub.tools_for(None)
        eventually(lambda: "big" in [tool.tool for tool in hub.tools_for(None)])
