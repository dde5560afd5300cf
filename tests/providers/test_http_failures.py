"""Provider calls that fail, and what is tried again."""

import gzip
import socket

import gevent
import pytest

from mead.providers.answer import MAX_BODY_BYTES
from mead.providers.errors import ProviderFault
from mead.providers.sse import MAX_EVENT_BYTES
from tests.helpers.replay_server import BOUND_S, ReplayServer, Reply, answer, sse
from tests.providers.http_calls import POST, body_of, client_of, fault_of, refuse

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
