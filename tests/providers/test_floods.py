"""A model server that sends without end fails its own turn and holds nobody else up."""

import gevent
import pytest

from mead.providers.errors import ProviderFault
from mead.providers.http import Call, HttpClient
from mead.providers.sse import read_events
from tests.helpers.flood_server import flooding
from tests.helpers.replay_server import BOUND_S, ReplayServer, Reply

CALL = Call("POST", "/chat", b"{}")


def client_of(port, **changes):
    return HttpClient(f"http://127.0.0.1:{port}", **{"max_retries": 0, **changes})


def read_all(client):
    return client.run(CALL, lambda got: list(read_events(got.chunks())))


@pytest.mark.parametrize(
    "kind",
    ["interim answers", "early hints", "headers", "a status line", "trailers", "long trailers"],
)
def test_a_frame_without_end_is_a_bad_response_and_is_not_tried_again(kind):
    with flooding(kind) as port:
        client = client_of(port, max_retries=2)
        with gevent.Timeout(BOUND_S), pytest.raises(ProviderFault) as failed:
            read_all(client)
        client.close()
    assert (failed.value.reason, failed.value.retryable) == ("bad_response", False)


@pytest.mark.parametrize("kind", ["comments", "blank lines", "tiny chunks", "chunk extensions"])
def test_a_deadline_ends_a_body_without_end(kind):
    with flooding(kind) as port:
        client = client_of(port)
        with pytest.raises(gevent.Timeout), gevent.Timeout(0.2):
            read_all(client)
        client.close()


def test_a_refusal_whose_trailers_have_no_end_is_still_that_refusal():
    def refused(got):
        return got.status, got.refusal_body()

    trailers = b"X-A: b\r\n" * 50_000
    body = b"HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n" + trailers
    with ReplayServer(Reply([body], framing="raw", end="hold")) as server:
        client = client_of(server.port)
        assert client.run(CALL, refused) == (401, b"no")
        client.close()
