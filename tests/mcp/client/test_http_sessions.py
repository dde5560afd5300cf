"""The sessions of servers over HTTP: made, forgotten, made anew, ended."""

import gevent
import pytest

from tests.helpers.mcp_http_fake import (
    FakeHttp,
    Reply,
    error,
    http_server,
    result,
)
from tests.helpers.mcp_settings import running, status
from tests.mcp.client.asking import call, says

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
