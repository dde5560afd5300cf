"""Which requests may become WebSockets."""

import pytest

from mead.protocols.sockets import UpgradeRefused
from mead.web.connections import Connections
from mead.web.websocket.engine import WebSocketEngine
from mead.web.websocket.handshake import answer
from tests.helpers.raw_websocket import ACCEPT, KEY

GOOD = {
    "REQUEST_METHOD": "GET",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "HTTP_CONNECTION": "keep-alive, Upgrade",
    "HTTP_UPGRADE": "WebSocket",
    "HTTP_SEC_WEBSOCKET_KEY": KEY,
    "HTTP_SEC_WEBSOCKET_VERSION": "13",
}


def head(*ours: str, **more: str) -> str:
    return answer(GOOD | more, ours).decode()


def refusal(**more: str | None) -> UpgradeRefused:
    environ = {name: value for name, value in (GOOD | more).items() if value is not None}
    with pytest.raises(UpgradeRefused) as refused:
        answer(environ, ())
    return refused.value


def test_a_good_request_is_answered_as_the_rfc_says():
    said = head()
    assert said.startswith("HTTP/1.1 101 Switching Protocols\r\n")
    assert f"\r\nSec-WebSocket-Accept: {ACCEPT}\r\n" in said
    assert said.endswith("\r\n\r\n")


def test_the_first_of_our_subprotocols_that_is_offered_is_told():
    offered = "ticket.abc, mead.deck.v1, mead.deck.v2"
    said = head("mead.deck.v2", "mead.deck.v1", HTTP_SEC_WEBSOCKET_PROTOCOL=offered)
    assert "\r\nSec-WebSocket-Protocol: mead.deck.v2\r\n" in said
    assert "ticket" not in said


@pytest.mark.parametrize("offered", [{}, {"HTTP_SEC_WEBSOCKET_PROTOCOL": "other"}])
def test_a_client_without_our_subprotocol_is_taken_without(offered):
    assert "Sec-WebSocket-Protocol" not in head("mead.deck.v1", **offered)


def test_no_extension_is_agreed():
    offered = "permessage-deflate; client_max_window_bits"
    assert "Extensions" not in head(HTTP_SEC_WEBSOCKET_EXTENSIONS=offered)


@pytest.mark.parametrize("version", ["8", "14", "", None])
def test_another_version_is_told_which_one_it_should_be(version):
    refused = refusal(HTTP_SEC_WEBSOCKET_VERSION=version)
    assert refused.status == 426
    assert refused.headers["Sec-WebSocket-Version"] == "13"


@pytest.mark.parametrize(
    "more", [{"HTTP_UPGRADE": "h2c"}, {"HTTP_UPGRADE": None}, {"HTTP_CONNECTION": "close"}]
)
def test_no_upgrade_is_426(more):
    refused = refusal(**more)
    assert (refused.status, refused.headers["Upgrade"]) == (426, "websocket")


@pytest.mark.parametrize(
    "more",
    [
        {"HTTP_SEC_WEBSOCKET_KEY": None},
        {"HTTP_SEC_WEBSOCKET_KEY": "short"},
        {"HTTP_SEC_WEBSOCKET_KEY": f"{KEY}, {KEY}"},
        {"HTTP_SEC_WEBSOCKET_PROTOCOL": "not a token,,"},
        {"REQUEST_METHOD": "POST"},
        {"SERVER_PROTOCOL": "HTTP/1.0"},
        {"CONTENT_LENGTH": "5"},
        {"HTTP_TRANSFER_ENCODING": "chunked"},
    ],
)
def test_any_other_fault_is_400(more):
    assert refusal(**more).status == 400


def test_a_server_that_leaves_or_gives_no_connection_takes_none():
    connections = Connections(1)
    engine = WebSocketEngine(connections)
    with pytest.raises(UpgradeRefused) as refused:
        engine.accept(GOOD)
    assert refused.value.status == 501
    connections.drain()
    with pytest.raises(UpgradeRefused) as refused:
        engine.check(GOOD)
    assert (refused.value.status, refused.value.code) == (503, "draining")
