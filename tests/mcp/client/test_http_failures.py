"""Servers over HTTP that fail: what may be sent again, and what is given up."""

import gevent
import pytest

from tests.helpers.mcp_http_fake import (
    STREAM,
    FakeHttp,
    Reply,
    event,
    http_server,
    result,
    text,
)
from tests.helpers.mcp_settings import running, status, wait_for
from tests.helpers.waiting import eventually
from tests.mcp.client.asking import call, listening, says

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
