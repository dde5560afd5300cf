"""A tool server that sends without end hurts itself alone."""

import gzip

import gevent
import pytest

from mead.mcp.client.faults import ServerFault
from mead.mcp.client.http_session import HttpSession
from tests.helpers.flood_server import flooding
from tests.helpers.replay_server import BOUND_S, ReplayServer, answer


def read_all(port, limit=None, proxy=None, url=None):
    session = HttpSession(url or f"http://127.0.0.1:{port}/mcp", {}, proxy)
    try:
        with session.ask("POST", {}, b"{}", silence_ms=5000) as got:
            return sum(len(data) for data in got.chunks(limit))
    finally:
        session.close()


@pytest.mark.parametrize("kind", ["interim answers", "early hints", "trailers", "long trailers"])
def test_a_frame_without_end_is_a_bad_response(kind):
    with flooding(kind) as port, gevent.Timeout(BOUND_S), pytest.raises(ServerFault) as failed:
        read_all(port)
    assert failed.value.code == "bad_response"


def test_a_proxy_whose_headers_have_no_end_is_a_fault():
    with flooding("headers") as port, gevent.Timeout(BOUND_S), pytest.raises(ServerFault):
        read_all(port, proxy=f"http://127.0.0.1:{port}", url="https://tools.test/mcp")


@pytest.mark.parametrize("kind", ["comments", "tiny chunks", "chunk extensions"])
def test_a_deadline_ends_a_stream_without_end(kind):
    with flooding(kind) as port, pytest.raises(gevent.Timeout), gevent.Timeout(0.2):
        read_all(port)


def test_a_compressed_answer_was_not_asked_for_and_is_refused():
    reply = answer(gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})
    with ReplayServer(reply) as server, pytest.raises(ServerFault) as failed:
        read_all(server.port)
    assert failed.value.code == "bad_response"
