"""The HTTP client of the providers, on real sockets: calls, connections, and what ends them."""

import socket
import time
from pathlib import Path
from types import SimpleNamespace

import gevent
import pytest
from gevent.event import Event

from mead.errors import ConfigurationError
from mead.providers.answer import Answer
from mead.providers.http import HttpClient
from tests.helpers.replay_server import BOUND_S, ReplayServer, Reply, answer, sse
from tests.helpers.waiting import eventually
from tests.providers.http_calls import (
    CERTIFICATE,
    POST,
    body_of,
    client_of,
    fault_of,
    refuse,
    tls_server,
)

# -- a request and its answer ----------------------------------------------------------------------


def test_a_call_sends_its_body_and_headers_behind_the_base_url():
    with (
        ReplayServer(answer({"ok": True})) as server,
        client_of(server.url + "/v1/", headers={"Authorization": "Bearer k"}) as client,
    ):
        assert body_of(client) == b'{"ok": true}'
        seen = server.seen[0]
        assert (seen.method, seen.path, seen.json) == ("POST", "/v1/chat", {"q": 1})
        assert seen.headers["authorization"] == "Bearer k"
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["accept-encoding"] == "identity"
        assert client.host == f"127.0.0.1:{server.port}"


def test_an_answer_tells_its_status_kind_and_request_id():
    reply = answer({}, 418, headers={"request-id": "req_1", "Content-Type": "Text/HTML; x=y"})
    with ReplayServer(reply) as server, client_of(server.url) as client:
        told = client.run(POST, lambda got: (got.status, got.content_type, got.request_id))
    assert told == (418, "text/html", "req_1")


@pytest.mark.parametrize("given", ["a b", "x" * 81, "sk-key-1234", "key-1234", "<b>"])
def test_a_request_id_that_could_quote_something_is_not_shown(given):
    with (
        ReplayServer(answer({}, headers={"request-id": given})) as server,
        client_of(server.url, headers={"x-api-key": "sk-key-1234"}) as client,
    ):
        assert client.run(POST, lambda got: got.request_id) is None


@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
def test_bytes_are_handed_on_the_moment_they_arrive(framing):
    go_on = Event()
    taken = []

    def read(got):
        for part in got.chunks():
            taken.append(part)
            go_on.set()

    reply = Reply([b"first", go_on, b"second"], framing=framing)
    with ReplayServer(reply) as server, client_of(server.url) as client:
        client.run(POST, read)
    assert taken == [b"first", b"second"]


def test_a_connection_serves_the_next_call_when_the_answer_was_read_to_its_marker():
    def first_part(got):
        return next(got.chunks())

    with ReplayServer(sse(b"data: 1\n\n")) as server, client_of(server.url) as client:
        for _ in range(3):
            assert client.run(POST, first_part) == b"data: 1\n\n"
        assert [seen.connection for seen in server.seen] == [1, 1, 1]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_the_server_closed_meanwhile_costs_no_retry(scheme):
    names = []
    with (
        tls_server(names) if scheme == "https" else ReplayServer(answer({})) as server,
        client_of(
            f"{scheme}://model.test:{server.port}",
            resolve=lambda: "127.0.0.1",
            certificates=CERTIFICATE,
        ) as client,
    ):
        server.replies = [answer({}), Reply(framing="raw", end="cut"), answer({"ok": 1})]
        body_of(client)
        assert body_of(client) == b'{"ok": 1}'
        assert [seen.connection for seen in server.seen] == [1, 1, 2]


def test_a_connection_whose_answer_goes_on_is_closed_after_the_call():
    with ReplayServer(sse(b"data: 1\n\n", end="hold")) as server, client_of(server.url) as client:
        client.run(POST, lambda got: next(got.chunks()))
        assert server.left.wait(BOUND_S)


def test_many_calls_at_once_do_not_wait_for_each_other():
    go_on = Event()
    with ReplayServer(Reply([b"x", go_on])) as server, client_of(server.url) as client:
        running = [gevent.spawn(body_of, client) for _ in range(80)]
        eventually(lambda: len(server.seen) == 80)
        go_on.set()
        gevent.joinall(running, timeout=BOUND_S, raise_error=True)
        assert [one.value for one in running] == [b"x"] * 80


def test_a_reader_whose_bytes_are_always_there_lets_others_run():
    class Ready:
        """A body that never makes its reader wait: a millisecond of work for each piece."""

        left = 100

        def read1(self, amt, decode_content):
            until = time.perf_counter() + 0.001
            while time.perf_counter() < until:
                pass
            self.left -= 1
            return b"x" if self.left else b""

    turns = 0

    def other():
        nonlocal turns
        while True:
            turns += 1
            gevent.sleep(0)

    running = gevent.spawn(other)
    response = SimpleNamespace(status_code=200, headers={}, raw=Ready())
    assert len(list(Answer(response, ()).chunks())) == 99
    running.kill()
    assert turns >= 10


# -- nothing from the environment ------------------------------------------------------------------


def test_proxy_variables_and_a_netrc_change_nothing(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    netrc.chmod(0o600)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    with ReplayServer(answer({})) as server, client_of(server.url) as client:
        assert body_of(client) == b"{}"
        assert "authorization" not in server.seen[0].headers


def test_a_redirect_is_an_answer_and_is_not_followed():
    with ReplayServer(answer({})) as elsewhere:
        there = {"Location": elsewhere.url + "/stolen"}
        with (
            ReplayServer(answer({}, 307, headers=there)) as server,
            client_of(server.url) as client,
        ):
            assert client.run(POST, lambda got: got.status) == 307
        assert elsewhere.seen == []


def test_a_redirect_whose_body_never_ends_holds_nobody_up():
    reply = Reply([b"x"], 302, {"Location": "/"}, end="hold")
    with ReplayServer(reply) as server, client_of(server.url) as client:
        assert client.run(POST, lambda got: got.status) == 302
        assert server.left.wait(BOUND_S)


def test_a_cookie_is_not_brought_back():
    with (
        ReplayServer(answer({}, headers={"Set-Cookie": "who=me; Path=/"})) as server,
        client_of(server.url) as client,
    ):
        body_of(client)
        body_of(client)
        assert "cookie" not in server.seen[1].headers


def test_an_explicit_proxy_is_asked_instead():
    with (
        ReplayServer(answer({})) as proxy,
        client_of("http://model.test:8000", proxy=proxy.url) as client,
    ):
        assert body_of(client) == b"{}"
        assert proxy.seen[0].path == "http://model.test:8000/chat"
        assert client.host == "model.test:8000"


def test_a_proxy_that_refuses_is_an_unavailable_provider_that_is_not_quoted():
    refused = Reply([b"HTTP/1.1 403 s3cret\r\n\r\n"], framing="raw")
    with (
        ReplayServer(refused) as proxy,
        client_of("https://model.test", proxy=f"http://me:s3cret@127.0.0.1:{proxy.port}") as client,
    ):
        fault = fault_of(client)
    assert fault.reason == "provider_unavailable"
    assert "s3cret" not in str(fault)


# -- cancelling ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "pieces"),
    [
        pytest.param(Reply(framing="raw", end="hold"), 0, id="before the answer"),
        pytest.param(sse(b"data: 1\n\n", end="hold"), 1, id="chunked"),
        pytest.param(sse(b"data: 1\n\n", framing="close", end="hold"), 1, id="close-delimited"),
    ],
)
def test_killing_the_greenlet_closes_the_connection_at_once(reply, pieces):
    read = []

    def keep(got):
        for piece in got.chunks():
            read.append(piece)  # noqa: PERF402 - one by one, as they come

    with ReplayServer(reply) as server, client_of(server.url) as client:
        running = gevent.spawn(client.run, POST, keep)
        assert server.arrived.wait(BOUND_S)
        eventually(lambda: len(read) == pieces)  # now it waits in the place that the case means
        running.kill(timeout=BOUND_S)
        assert running.dead
        assert server.left.wait(BOUND_S)


def test_killing_the_greenlet_ends_the_wait_before_the_next_attempt():
    came = Event()

    def refused(got):
        came.set()
        refuse(got)

    with (
        ReplayServer(answer({}, 529)) as server,
        client_of(server.url, max_retries=2, first_backoff_ms=60_000) as client,
    ):
        running = gevent.spawn(client.run, POST, refused)
        assert came.wait(BOUND_S)
        running.kill(timeout=BOUND_S)
        assert running.dead
        assert len(server.seen) == 1


def test_a_reader_that_raises_closes_the_connection():
    def read(got):
        next(got.chunks())
        raise ValueError("mine")

    with ReplayServer(sse(b"data: 1\n\n", end="hold")) as server, client_of(server.url) as client:
        with pytest.raises(ValueError, match="mine"):
            client.run(POST, read)
        assert server.left.wait(BOUND_S)


# -- what is refused before the first call ---------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"url": "model.test"}, "base_url"),
        ({"url": "ftp://model.test"}, "base_url"),
        ({"url": "http://model.test:port"}, "base_url"),
        ({"headers": {"x-api-key": "s3cret\n"}}, "x-api-key"),
        ({"headers": {"x-api-key": "s3cr€t"}}, "x-api-key"),
        ({"proxy": "socks5://127.0.0.1:1"}, "proxy"),
        ({"proxy": "http://127.0.0.1:1", "resolve": lambda: "127.0.0.1"}, "proxy"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_their_secrets(changes, named):
    with pytest.raises(ConfigurationError) as refused:
        HttpClient(changes.pop("url", "http://model.test"), **changes)
    assert named in str(refused.value)
    assert "s3cr" not in str(refused.value)


def test_no_descriptor_is_left_by_two_hundred_failed_calls():
    def count():
        return len(list(Path("/proc/self/fd").iterdir()))

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with client_of(f"http://127.0.0.1:{held.getsockname()[1]}") as client:
            fault_of(client)
            before = count()
            for _ in range(200):
                fault_of(client)
            assert count() <= before
