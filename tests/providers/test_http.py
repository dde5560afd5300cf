import gzip
import socket
import ssl
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import gevent
import pytest
from gevent.event import Event

from mead.errors import ConfigurationError, TurnFailed
from mead.providers.answer import MAX_BODY_BYTES, Answer
from mead.providers.errors import ProviderFault
from mead.providers.http import Call, HttpClient
from mead.providers.sse import MAX_EVENT_BYTES
from tests.helpers.replay_server import BOUND_S, ReplayServer, Reply, answer, sse
from tests.helpers.waiting import eventually

CERTIFICATE = Path(__file__).parents[1] / "helpers" / "model_test.pem"
POST = Call("POST", "/chat", b'{"q": 1}', {"Content-Type": "application/json"})


@contextmanager
def client_of(url, **changes):
    client = HttpClient(url, **{"first_backoff_ms": 1, "max_retries": 0, **changes})
    try:
        yield client
    finally:
        client.close()


def body_of(client, call=POST):
    return client.run(call, lambda got: got.body())


def fault_of(client, read=lambda got: got.body()):
    with pytest.raises(ProviderFault) as raised:
        client.run(POST, read)
    return raised.value


def refuse(got):
    """What a provider does with an error status."""
    if got.status != 200:
        raise ProviderFault(
            "overloaded",
            retryable=got.status in (429, 529),
            retry_after_ms=got.retry_after_ms,
        )
    return got.body()


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


# -- the address that was checked ------------------------------------------------------------------


def test_the_connection_goes_to_the_address_that_was_checked_and_keeps_the_name():
    with (
        ReplayServer(answer({})) as server,
        client_of(f"http://model.test:{server.port}/v1", resolve=lambda: "127.0.0.1") as client,
    ):
        assert client.host == f"model.test:{server.port}"
        body_of(client)
        assert server.seen[0].headers["host"] == f"model.test:{server.port}"
        assert client.host == f"127.0.0.1:{server.port}"


def test_the_address_is_asked_for_anew_with_every_request():
    asked = []

    def resolve():
        asked.append(1)
        return "127.0.0.1"

    with (
        ReplayServer(answer({})) as server,
        client_of(f"http://model.test:{server.port}", resolve=resolve) as client,
    ):
        body_of(client)
        body_of(client)
    assert len(asked) == 2


def test_a_check_that_refuses_ends_the_call_before_anything_is_sent():
    def resolve():
        raise TurnFailed("not_local", "elsewhere")

    with (
        ReplayServer(answer({})) as server,
        client_of(server.url, resolve=resolve, max_retries=2) as client,
    ):
        with pytest.raises(TurnFailed) as failed:
            body_of(client)
        assert failed.value.reason == "not_local"
        assert server.connections == 0


def test_an_ipv6_address_is_shown_in_brackets():
    with client_of("http://model.test:9", resolve=lambda: "::1") as client:
        fault_of(client)  # nobody listens there, or the machine has no IPv6
        assert client.host == "[::1]:9"


def tls_server(names):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    return ReplayServer(answer({"ok": 1}), tls=context)


def test_a_pinned_tls_connection_asks_for_and_verifies_the_name():
    names = []
    with (
        tls_server(names) as server,
        client_of(
            f"https://model.test:{server.port}",
            resolve=lambda: "127.0.0.1",
            certificates=CERTIFICATE,
        ) as client,
    ):
        assert body_of(client) == b'{"ok": 1}'
    assert names == ["model.test"]


def test_a_certificate_for_another_name_is_refused_and_not_tried_again():
    names = []
    with (
        tls_server(names) as server,
        client_of(
            f"https://other.test:{server.port}",
            resolve=lambda: "127.0.0.1",
            certificates=CERTIFICATE,
            max_retries=2,
        ) as client,
    ):
        fault = fault_of(client)
        assert fault.reason == "provider_unavailable"
        assert "certificate" in fault.message
    assert names == ["other.test"]


def test_an_unknown_certificate_is_refused():
    with (
        tls_server([]) as server,
        client_of(f"https://model.test:{server.port}", resolve=lambda: "127.0.0.1") as client,
    ):
        assert "certificate" in fault_of(client).message


# -- failures --------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_unavailable():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with client_of(f"http://127.0.0.1:{held.getsockname()[1]}") as client:
            fault = fault_of(client)
    assert (fault.reason, fault.retryable) == ("provider_unavailable", True)


def test_a_server_that_does_not_accept_in_time_is_unavailable():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # the queue holds one, and nobody takes it
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with client_of(url, connect_timeout_ms=50, receive_timeout_ms=60_000) as client:
            fault = fault_of(client)
        for one in waiting:
            one.close()
    assert (fault.reason, fault.retryable) == ("provider_unavailable", True)


def test_a_name_without_an_address_is_unavailable():
    with client_of("http://model.test") as client:
        assert fault_of(client).reason == "provider_unavailable"


def test_a_server_that_never_answers_times_out():
    with (
        ReplayServer(Reply(framing="raw", end="hold")) as server,
        client_of(server.url, receive_timeout_ms=50, max_retries=2) as client,
    ):
        assert fault_of(client).reason == "provider_timeout"
        assert len(server.seen) == 1  # silence is not tried again
        assert server.left.wait(BOUND_S)


def test_silence_between_bytes_times_out():
    with (
        ReplayServer(sse(b"data: 1\n\n", end="hold")) as server,
        client_of(server.url, receive_timeout_ms=50) as client,
    ):
        assert fault_of(client).reason == "provider_timeout"
        assert server.left.wait(BOUND_S)


def test_bytes_that_keep_coming_never_time_out():
    slowly = [step for _ in range(6) for step in (b"x", lambda: gevent.sleep(0.03))]
    with (
        ReplayServer(Reply(slowly)) as server,
        client_of(server.url, receive_timeout_ms=100) as client,
    ):
        assert body_of(client) == b"xxxxxx"


@pytest.mark.parametrize(
    ("framing", "end"),
    [("chunked", "cut"), ("length", "cut"), ("chunked", "reset"), ("length", "reset")],
)
def test_a_body_that_breaks_off_is_a_bad_response(framing, end):
    reply = Reply([b"half"], framing=framing, end=end)
    with ReplayServer(reply) as server, client_of(server.url) as client:
        assert fault_of(client).reason == "bad_response"


def test_what_is_not_http_is_a_bad_response():
    reply = Reply([b"SSH-2.0-OpenSSH_9\r\n"], framing="raw", end="cut")
    with ReplayServer(reply) as server, client_of(server.url, max_retries=2) as client:
        assert fault_of(client).reason == "bad_response"
        assert len(server.seen) == 1


def test_a_connection_that_closes_without_an_answer_is_unavailable():
    reply = Reply(framing="raw", end="cut")
    with ReplayServer(reply) as server, client_of(server.url) as client:
        assert fault_of(client).reason == "provider_unavailable"


def test_the_body_of_a_refusal_is_waited_for_only_a_while():
    drip = [step for _ in range(50) for step in (b"x", lambda: gevent.sleep(0.05))]
    with ReplayServer(Reply(drip, 500)) as server, client_of(server.url) as client:
        taken = client.run(POST, lambda got: got.refusal_body(within_ms=120))
        assert 0 < len(taken) < 50
        assert server.left.wait(BOUND_S)


def test_no_more_of_a_refusal_is_read_than_could_be_of_use():
    with ReplayServer(Reply([b"x" * 60_000] * 9, 500)) as server, client_of(server.url) as client:
        assert client.run(POST, lambda got: len(got.refusal_body())) < 200_000


def test_a_body_without_end_is_cut_at_the_limit():
    def read(got):
        return got.body(limit=100_000)

    with (
        ReplayServer(Reply([b"x" * 60_000] * 4)) as server,
        client_of(server.url) as client,
    ):
        fault = fault_of(client, read)
        assert fault.reason == "bad_response"
        assert server.left.wait(BOUND_S)
    assert MAX_BODY_BYTES == MAX_EVENT_BYTES


@pytest.mark.parametrize("coding", ["gzip", "deflate, gzip", "br"])
def test_a_compressed_answer_was_not_asked_for_and_is_refused(coding):
    reply = answer(gzip.compress(b"hello " * 1000), headers={"Content-Encoding": coding})
    with ReplayServer(reply) as server, client_of(server.url) as client:
        fault = fault_of(client)
    assert (fault.reason, fault.retryable) == ("bad_response", False)
    assert "compressed" in fault.message


def test_an_answer_that_says_it_is_not_compressed_is_read():
    reply = answer(b"hello", headers={"Content-Encoding": "Identity"})
    with ReplayServer(reply) as server, client_of(server.url) as client:
        assert body_of(client) == b"hello"


def test_a_compressed_refusal_is_known_by_its_status():
    reply = answer(gzip.compress(b"{}"), 529, headers={"Content-Encoding": "gzip"})
    with ReplayServer(reply) as server, client_of(server.url) as client:
        told = client.run(POST, lambda got: (got.status, got.refusal_body()))
    assert told == (529, b"")


# -- cancelling ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(framing="raw", end="hold"), id="before the answer"),
        pytest.param(sse(b"data: 1\n\n", end="hold"), id="chunked"),
        pytest.param(sse(b"data: 1\n\n", framing="close", end="hold"), id="close-delimited"),
    ],
)
def test_killing_the_greenlet_closes_the_connection_at_once(reply):
    with ReplayServer(reply) as server, client_of(server.url) as client:
        running = gevent.spawn(body_of, client)
        assert server.arrived.wait(BOUND_S)
        gevent.sleep(0.02)  # so that the reader waits in the place that the case means
        running.kill(timeout=BOUND_S)
        assert running.dead
        assert server.left.wait(BOUND_S)


def test_killing_the_greenlet_ends_the_wait_before_the_next_attempt():
    with (
        ReplayServer(answer({}, 529)) as server,
        client_of(server.url, max_retries=2, first_backoff_ms=60_000) as client,
    ):
        running = gevent.spawn(client.run, POST, refuse)
        assert server.arrived.wait(BOUND_S)
        gevent.sleep(0.02)
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


# -- retries ---------------------------------------------------------------------------------------


def test_a_passing_failure_is_tried_again_until_it_works():
    replies = [answer({}, 529), Reply(framing="raw", end="cut"), answer({"ok": 1})]
    with ReplayServer(*replies) as server, client_of(server.url, max_retries=2) as client:
        assert client.run(POST, refuse) == b'{"ok": 1}'
        assert len(server.seen) == 3


def test_after_the_last_retry_the_failure_stands():
    with ReplayServer(answer({}, 529)) as server, client_of(server.url, max_retries=2) as client:
        assert fault_of(client, refuse).reason == "overloaded"
        assert len(server.seen) == 3


def test_without_retries_there_is_one_attempt():
    with ReplayServer(answer({}, 529)) as server, client_of(server.url) as client:
        fault_of(client, refuse)
        assert len(server.seen) == 1


def test_another_failure_is_not_tried_again():
    with ReplayServer(answer({}, 400)) as server, client_of(server.url, max_retries=2) as client:
        fault_of(client, refuse)
        assert len(server.seen) == 1


def test_nothing_is_tried_again_once_something_was_shown():
    shown = []

    def read(got):
        shown.append(1)
        return got.body()

    with (
        ReplayServer(Reply([b"half"], end="cut")) as server,
        client_of(server.url, max_retries=2) as client,
    ):
        with pytest.raises(ProviderFault):
            client.run(POST, read, shown=lambda: bool(shown))
        assert len(server.seen) == 1


@pytest.mark.parametrize("header", [{"retry-after-ms": "60"}, {"retry-after": "0.06"}])
def test_the_server_says_how_long_to_wait(header):
    waited = []
    clock = gevent.get_hub().loop

    def read(got):
        waited.append(clock.now())
        return refuse(got)

    with (
        ReplayServer(answer({}, 429, headers=header), answer({})) as server,
        client_of(server.url, max_retries=1) as client,
    ):
        client.run(POST, read)
    assert waited[1] - waited[0] >= 0.055


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for():
    with (
        ReplayServer(answer({}, 429, headers={"retry-after": "3600"})) as server,
        client_of(server.url, max_retries=2) as client,
    ):
        fault_of(client, refuse)
        assert len(server.seen) == 1


def test_back_off_grows_stays_bounded_and_is_jittered():
    with client_of("http://127.0.0.1:1", max_retries=20, first_backoff_ms=500) as client:
        fault = ProviderFault("overloaded", retryable=True)
        delays = [[client._delay_ms(fault, n) for _ in range(20)] for n in range(8)]
    for number, drawn in enumerate(delays):
        most = min(500 * 2**number, 8000)
        assert all(most * 0.75 <= delay <= most for delay in drawn)
        assert len(set(drawn)) > 1


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
