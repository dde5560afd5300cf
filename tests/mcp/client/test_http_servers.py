"""The hub and servers over HTTP, on real sockets."""

from contextlib import contextmanager, suppress
from dataclasses import replace

import gevent
import pytest
from gevent.server import StreamServer

from mead.actors.tasks import TaskSupervisor
from mead.mcp.client.events import Event
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.http import HttpTransport
from mead.mcp.client.http_stream import Stream
from mead.mcp.jsonrpc import Notification
from tests.helpers.mcp_http_fake import (
    STREAM,
    FakeHttp,
    Reply,
    error,
    event,
    http_server,
    result,
    text,
)
from tests.helpers.mcp_settings import running, status, wait_for
from tests.helpers.waiting import eventually


def call(hub, tool, arguments=None):
    return hub.call_tool(f"fake__{tool}", arguments or {}, None)


def says(hub, words="hello"):
    return call(hub, "echo", {"text": words}).text == words


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


@contextmanager
def listening(handle):
    """A server of our own; gives the port."""
    server = StreamServer(("127.0.0.1", 0), handle)
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop(timeout=0)


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


# -- sessions --------------------------------------------------------------------------------------


NO_SESSION = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"%s"}}'


@pytest.mark.parametrize(
    "bait",
    [
        lambda heard: Reply(400, headers={"Mcp-Session-Id": "bait"}),
        lambda heard: result(heard, {}, headers={"Mcp-Session-Id": "bait"}),
    ],
)
def test_only_initialize_gives_a_session(bait):
    fake = FakeHttp()
    fake.on["server/discover"] = bait
    with fake.serving() as port, running(http_server(port)) as hub:
        assert says(hub)
        assert not [heard for heard in fake.heard if "mcp-session-id" in heard.headers]


@pytest.mark.parametrize(
    "refusal",
    [
        lambda heard: Reply(404),
        lambda heard: error(heard, -32001, 404),
        lambda heard: Reply(400, NO_SESSION % b"No valid session ID provided"),
        lambda heard: Reply(400, b'{"error": "Session not found"}'),
    ],
)
def test_a_forgotten_session_is_made_anew_and_the_call_sent_again(refusal):
    fake = FakeHttp(sessions=True)
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.on["tools/call"] = lambda heard: (
            refusal(heard) if fake.session == "session-1" else None
        )
        assert says(hub)
        assert fake.calls().count("tools/call") == 2
        assert fake.calls().count("initialize") == 2
        assert fake.last("tools/call").headers["mcp-session-id"] == "session-2"
        assert status(hub).state == "ready"


@pytest.mark.parametrize(
    "refusal",
    [
        lambda heard: error(heard, -32000, 400, message="ran, then No valid session ID"),
        lambda heard: error(heard, -32000, 404, message="ran, then something was not there"),
        lambda heard: Reply(400, NO_SESSION % b"ran, then the database session was closed"),
        lambda heard: Reply(400, b'{"detail": "session"}'),
        lambda heard: Reply(400, b"no JSON: session"),
    ],
)
def test_a_call_that_the_server_has_read_is_never_sent_again(refusal):
    fake = FakeHttp(sessions=True)
    fake.on["tools/call"] = refusal
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").is_error
        assert fake.calls().count("tools/call") == 1
        assert fake.calls().count("initialize") == 1


def test_a_handshake_that_is_refused_gives_no_session():
    fake = FakeHttp()
    refusals = iter([lambda heard: error(heard, -32022, 200, data={"supported": ["2026-07-28"]})])

    def refuses(heard):
        reply = next(refusals, lambda _: None)(heard)
        if reply is not None:
            reply.headers["Mcp-Session-Id"] = "bait"
        return reply

    fake.on["initialize"] = refuses
    with fake.serving() as port, running(http_server(port)) as hub:
        assert says(hub)
        assert fake.calls().count("initialize") == 2
        assert not [heard for heard in fake.heard if "mcp-session-id" in heard.headers]


def test_many_calls_on_a_forgotten_session_share_one_handshake():
    fake = FakeHttp(sessions=True)
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.session = "forgotten"
        calls = [gevent.spawn(call, hub, "echo", {"text": str(n)}) for n in range(20)]
        gevent.joinall(calls)
        assert [one.value.text for one in calls] == [str(n) for n in range(20)]
        assert fake.calls().count("initialize") == 2


def test_a_server_that_forgets_every_session_is_asked_twice_and_no_more():
    fake = FakeHttp(sessions=True)
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.on["tools/call"] = lambda heard: Reply(404)
        assert call(hub, "echo").text == "unknown_session: the server has forgotten the session"
        assert fake.calls().count("tools/call") == 2


def test_a_session_is_ended_with_delete():
    fake = FakeHttp(sessions=True)
    with fake.serving() as port:
        with running(http_server(port)):
            pass
        assert fake.last("DELETE").headers["mcp-session-id"] == "session-1"


# -- what may be sent again ------------------------------------------------------------------------


def test_a_call_that_found_no_server_is_sent_again_when_it_is_back():
    fake, again = FakeHttp(), FakeHttp()
    with fake.serving() as port:
        pass
    with running(http_server(port), ready=False, backoff_ms=(1000,)) as hub:
        with fake.serving(port):
            wait_for(hub, "fake", "ready")
        calling = gevent.spawn(call, hub, "echo", {"text": "patient"})
        wait_for(hub, "fake", "waiting")
        with again.serving(port):
            assert calling.get(timeout=5).text == "patient"
        assert again.calls().count("tools/call") == 1


def test_a_call_whose_answer_broke_off_is_lost_and_never_sent_again():
    fake = FakeHttp()

    def breaks(heard):
        def body():
            yield b'{"jsonrpc": "2.0", '
            raise ConnectionResetError

        return Reply(body=body())

    fake.on["tools/call"] = breaks
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text.startswith("connection_lost")
        assert fake.calls().count("tools/call") == 1


def test_a_call_that_a_proxy_lost_is_never_sent_again():
    taken = []

    def drops(socket, address):
        taken.append(b"tools/call" in socket.recv(65536))
        socket.close()

    fake = FakeHttp()
    with (
        listening(drops) as dropping,
        fake.serving() as port,
        running(http_server(9, proxy=f"http://127.0.0.1:{port}")) as hub,
    ):
        relay = hub._catalog.line("fake").peer._transport._http
        relay._session.proxies = {"http": f"http://127.0.0.1:{dropping}"}
        assert call(hub, "echo").text.startswith("connection_lost")
        assert taken == [True]


def test_a_proxy_that_is_not_there_is_unreachable():
    fake = FakeHttp()
    with fake.serving() as port:
        pass
    with running(http_server(9, proxy=f"http://127.0.0.1:{port}"), ready=False) as hub:
        wait_for(hub, "fake", "waiting")
        assert status(hub).fault.startswith("unreachable")


@pytest.mark.parametrize("status_code", [401, 403])
def test_a_refused_key_is_reported_and_not_tried_again(status_code):
    fake = FakeHttp()
    fake.on["POST"] = lambda heard: Reply(status_code, headers={"WWW-Authenticate": "Bearer"})
    failing = FakeHttp()
    failing.on["POST"] = lambda heard: Reply(503)
    with fake.serving() as port, failing.serving() as other_port:
        servers = http_server(port), http_server(other_port, "other")
        with running(*servers, ready=False) as hub:
            wait_for(hub, "fake", "refused")
            assert status(hub).fault == (
                f"unauthorized: the server answered HTTP {status_code}; check headers"
            )
            eventually(lambda: len(failing.heard) == 4)
            assert len(fake.heard) == 1


def test_a_key_that_is_refused_later_takes_the_tools_away():
    fake = FakeHttp()
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.on["tools/call"] = lambda heard: Reply(401)
        assert call(hub, "echo").text.startswith("unauthorized")
        wait_for(hub, "fake", "refused")
        assert hub.tools_for(None) == ()


def test_a_redirect_is_not_followed():
    fake = FakeHttp()
    with fake.serving() as port, running(http_server(port)) as hub:
        where = {"Location": f"http://127.0.0.1:{port}/elsewhere"}
        fake.on["tools/call"] = lambda heard: Reply(307, headers=where)
        assert call(hub, "echo").text == "rejected: the server answered a request with HTTP 307"
        assert fake.calls().count("tools/call") == 1


def test_a_cookie_is_not_brought_back():
    fake = FakeHttp()
    cookie = {"Set-Cookie": "known=again; Path=/", "Set-Cookie2": "a=b"}
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.on["tools/call"] = lambda heard: result(heard, text("first"), headers=cookie)
        assert call(hub, "echo").text == "first"
        del fake.on["tools/call"]
        assert says(hub)
    assert [
        heard for heard in fake.heard if "cookie" in {name.lower() for name in heard.headers}
    ] == []


def test_accepting_a_request_is_no_answer():
    fake = FakeHttp()
    with fake.serving() as port, running(http_server(port)) as hub:
        fake.on["tools/call"] = lambda heard: Reply(202)
        assert call(hub, "echo").text.startswith("rejected")


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_of_more_than_four_mebibytes_fails_its_call(streamed):
    fake = FakeHttp()
    large = text("x" * (4 * 1024 * 1024))
    with fake.serving() as port, running(http_server(port)) as hub:
        if streamed:
            fake.on["tools/call"] = lambda heard: Reply(
                body=event(heard.message["id"], large), media_type=STREAM
            )
        else:
            fake.on["tools/call"] = lambda heard: result(heard, large)
        assert call(hub, "echo").text.startswith("response_too_large")
        del fake.on["tools/call"]
        assert says(hub)


STREAMS = {
    "plain": lambda id_: [event(id_, text("ok"))],
    "no blank line": lambda id_: [event(id_, text("ok"), end="")],
    "windows": lambda id_: [event(id_, text("ok")).replace(b"\n", b"\r\n")],
    "old mac": lambda id_: [event(id_, text("ok")).replace(b"\n", b"\r")],
    "bom": lambda id_: [b"\xef\xbb\xbf" + event(id_, text("ok"))],
    "bytewise": lambda id_: [
        event(id_, text("ok")).replace(b"\n", b"\r\n")[n : n + 1]
        for n in range(len(event(id_, text("ok")).replace(b"\n", b"\r\n")))
    ],
    "comments": lambda id_: [b": hello\n\n", b":\n", event(id_, text("ok"))],
    "no space": lambda id_: [event(id_, text("ok")).replace(b"data: ", b"data:")],
    "two lines": lambda id_: [event(id_, text("ok")).replace(b', "id"', b',\ndata: "id"')],
    "named": lambda id_: [event(id_, text("ok"), event="message")],
    "primed": lambda id_: [b"id: 1\ndata:\n\n", event(id_, text("ok"), id=2)],
    "garbage before": lambda id_: [b"data: hello\n\n", event(id_, text("ok"))],
    "ping before": lambda id_: [b'data: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n',
                                event(id_, text("ok"))],
    "other kind": lambda id_: [b"event: endpoint\ndata: /x\n\n", event(id_, text("ok"))],
}  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_is_read_whatever_its_style(stream):
    fake = FakeHttp()
    fake.on["tools/call"] = lambda heard: Reply(body=stream(heard.message["id"]), media_type=STREAM)
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "ok"


def test_an_answer_is_taken_from_a_stream_that_stays_open():
    fake = FakeHttp()
    leave = gevent.event.Event()

    def stays(heard):
        def body():
            yield event(heard.message["id"], text("ok"))
            leave.wait(5)

        return Reply(body=body(), media_type=STREAM)

    fake.on["tools/call"] = stays
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "ok"
        leave.set()


def test_a_broken_stream_is_taken_up_behind_its_last_event():
    fake = FakeHttp()
    asked = []

    def breaks(heard):
        asked.append(heard.message["id"])
        return Reply(body=[b"id: e1\nretry: 20\ndata:\n\n"], media_type=STREAM)

    def goes_on(heard):
        if heard.headers.get("last-event-id") != "e1":
            return None
        return Reply(body=[event(asked[0], text("resumed"), id="e2")], media_type=STREAM)

    fake.on["tools/call"] = breaks
    fake.on["GET"] = goes_on
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "resumed"
        assert fake.calls().count("tools/call") == 1


def test_a_stream_that_cannot_be_taken_up_is_lost():
    fake = FakeHttp()
    fake.on["tools/call"] = lambda heard: Reply(body=[b": nothing\n\n"], media_type=STREAM)
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "connection_lost: the stream ended before the answer"


def test_attempts_to_take_up_a_stream_end():
    fake = FakeHttp()
    primed = Reply(body=[b"id: e1\nretry: 5\ndata:\n\n"], media_type=STREAM)
    fake.on["tools/call"] = lambda heard: primed
    fake.on["GET"] = lambda heard: (
        Reply(body=[b": still nothing\n\n"], media_type=STREAM)
        if "last-event-id" in heard.headers
        else None
    )
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text.startswith("connection_lost")
        resumed = [heard for heard in fake.heard if "last-event-id" in heard.headers]
        assert len(resumed) == 2


def test_the_standing_stream_tells_of_a_changed_list():
    fake = FakeHttp(echo={})
    changed = gevent.event.Event()

    def stands(heard):
        def body():
            yield b"retry: 20\nid: s1\ndata:\n\n"
            changed.wait(5)
            yield b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

        return Reply(body=body(), media_type=STREAM)

    fake.on["GET"] = stands
    with fake.serving() as port, running(http_server(port)) as hub:
        assert [tool.tool for tool in hub.tools_for(None)] == ["echo"]
        eventually(lambda: "GET" in fake.calls())
        fake.tools["big"] = {}
        changed.set()
        eventually(lambda: "big" in [tool.tool for tool in hub.tools_for(None)])
        eventually(lambda: fake.last("GET").headers.get("last-event-id") == "s1")


def test_a_standing_stream_that_ends_at_once_is_opened_ever_less_often():
    stream = Stream(None, None)
    stream.note(Event("", "1", retry_ms=0))
    assert [stream.pause_ms(0.1) for _ in range(7)] == [
        1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
    ]  # fmt: skip
    assert stream.pause_ms(60) == 1000
    assert stream.retry_ms > 0


def test_a_standing_stream_that_wants_no_pause_gets_one():
    fake = FakeHttp()
    fake.on["GET"] = lambda heard: Reply(body=[b"retry: 0\nid: 1\ndata:\n\n"], media_type=STREAM)
    with fake.serving() as port, running(http_server(port)) as hub:
        eventually(lambda: "GET" in fake.calls())
        for _ in range(30):
            assert says(hub)
        assert fake.calls().count("GET") <= 3


def test_a_stream_of_an_array_that_is_too_long_is_noise_and_the_answer_counts():
    fake = FakeHttp()
    told = b",".join([b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'] * 101)
    fake.on["tools/call"] = lambda heard: Reply(
        body=[b"data: [" + told + b"]\n\n", event(heard.message["id"], text("ok"))],
        media_type=STREAM,
    )
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "ok"
        assert hub._connections["fake"]._transport.noise == 1


# -- giving up -------------------------------------------------------------------------------------


def _slow(leave):
    def slow(heard):
        def body():
            yield b": working\n\n"
            leave.wait(5)
            yield event(heard.message["id"], text("late"))

        return Reply(body=body(), media_type=STREAM)

    return slow


def test_a_killed_caller_has_its_call_cancelled_on_a_legacy_server():
    fake = FakeHttp()
    leave = gevent.event.Event()
    fake.on["tools/call"] = _slow(leave)
    with fake.serving() as port, running(http_server(port)) as hub:
        calling = gevent.spawn(call, hub, "echo")
        asked = eventually(lambda: "tools/call" in fake.calls() and fake.last("tools/call"))
        calling.kill()
        gone = eventually(
            lambda: (
                "notifications/cancelled" in fake.calls() and fake.last("notifications/cancelled")
            )
        )
        assert gone.message["params"]["requestId"] == asked.message["id"]
        leave.set()


def test_a_killed_caller_closes_the_answer_of_a_modern_server():
    fake = FakeHttp(era="modern")
    closed = gevent.event.Event()

    def slow(heard):
        def body():
            try:
                for _ in range(500):
                    yield b": working\n\n"
                    gevent.sleep(0.01)
            finally:
                closed.set()

        return Reply(body=body(), media_type=STREAM)

    fake.on["tools/call"] = slow
    with fake.serving() as port, running(http_server(port)) as hub:
        calling = gevent.spawn(call, hub, "echo")
        eventually(lambda: "tools/call" in fake.calls())
        calling.kill()
        assert closed.wait(4)
        assert "notifications/cancelled" not in fake.calls()


def test_a_silent_server_times_out_and_the_connection_stays():
    fake = FakeHttp()
    leave = gevent.event.Event()
    fake.on["tools/call"] = _slow(leave)
    with fake.serving() as port, running(http_server(port, call_timeout_ms=150)) as hub:
        assert call(hub, "echo").text.startswith("timeout")
        del fake.on["tools/call"]
        assert says(hub)
        leave.set()


def test_an_unreachable_server_hurts_itself_alone():
    fake = FakeHttp()
    with fake.serving() as port:
        nobody = http_server(1, "nobody")
        with running(http_server(port), nobody, ready=False) as hub:
            wait_for(hub, "fake", "ready")
            wait_for(hub, "nobody", "waiting")
            assert status(hub, "nobody").fault.startswith("unreachable")
            assert says(hub)


def test_a_connection_that_the_server_has_closed_carries_no_call():
    fake = FakeHttp()
    with fake.serving() as port, running(http_server(port)) as hub:
        for _ in range(30):
            assert says(hub)
            fake.hang_up()


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
