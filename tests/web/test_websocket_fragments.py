"""A message of very many fragments ends, although each of them is empty."""

import pytest

from mead.web.websocket.engine import MESSAGE_BYTES
from mead.web.websocket.incoming import BYTES_A_FRAGMENT, Ending, Incoming
from tests.helpers.raw_websocket import CONT, PING, TEXT, RawClient, closing, masked
from tests.helpers.server import Server, running

MOST = 10
MAXIMUM = MOST * BYTES_A_FRAGMENT
TOO_MANY = Ending(1009, "too many fragments", answered=True)


def of(fragments: int) -> bytes:
    """One message of so many, all empty but the first."""
    between = masked(CONT, fin=False) * (fragments - 2)
    return masked(TEXT, b"tea", fin=False) + between + masked(CONT)


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_as_many_as_are_allowed_are_a_message_and_one_more_ends_the_stream(piece):
    incoming = Incoming(MAXIMUM)
    stream = of(MOST) + of(MOST) + masked(PING) + of(MOST + 1) + masked(TEXT, b"late")
    for start in range(0, len(stream), piece):
        incoming.feed(stream[start : start + piece])
    assert [incoming.take(), incoming.take(), incoming.take()] == ["tea", "tea", None]
    assert incoming.ending == TOO_MANY
    assert incoming.feed(masked(TEXT, b"later")) == 0
    assert incoming.take() is None


def test_messages_of_one_frame_are_not_counted():
    incoming = Incoming(MAXIMUM)
    incoming.feed(masked(TEXT, b"x") * (MOST + 5))
    assert [incoming.take() for _ in range(MOST + 5)] == ["x"] * (MOST + 5)


@pytest.mark.e2e
@pytest.mark.timeout(60)
def test_empty_fragments_without_end_are_closed_with_1009(tmp_path):
    echo = Server(tmp_path, app="tests.helpers.sockets:app")
    with running(echo), RawClient.connect(echo.port, "/echo") as client:
        client.send(masked(TEXT, fin=False))
        for _ in range(MESSAGE_BYTES // BYTES_A_FRAGMENT // 1000 + 1):
            client.send(masked(CONT, fin=False) * 1000)
        assert client.receive() == closing(1009, "too many fragments")
