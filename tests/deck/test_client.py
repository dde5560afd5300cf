"""When the client comes back; what it hears is tested with real servers in tests/deck/e2e."""

from itertools import islice

import pytest

from mead.deck import client
from mead.deck.client import FIRST_PAUSE_S, LONGEST_PAUSE_S, DeckClient, DeckClosed


class Flaky(DeckClient):
    """Its connections last for as many messages as the test says, one after another."""

    def __init__(self, *lasting: int) -> None:
        super().__init__("http://127.0.0.1:1", "token")
        self.lasting = list(lasting)
        self.left = 0

    def connect(self):
        self.left = self.lasting.pop(0)
        return {}

    def _next(self, timeout_s):
        if not self.left:
            raise DeckClosed(1011, "the conversation's channel failed")
        self.left -= 1
        return {"type": "heartbeat", "payload": {}}


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr(client.time, "sleep", taken.append)
    return taken


def test_it_rejoins_at_once_and_then_with_pauses_that_grow(pauses):
    flaky = Flaky(*[0] * 10)
    list(islice(flaky.messages(), 10))
    assert len(pauses) == 9
    expected = FIRST_PAUSE_S
    for pause in pauses:
        assert 0.5 * expected <= pause <= 1.5 * expected
        expected = min(2 * expected, LONGEST_PAUSE_S)
    flaky.close()


def test_a_connection_that_brought_something_is_followed_at_once_by_another(pauses):
    flaky = Flaky(0, 0, 0, 1, 0)
    heard = [message["type"] for message in islice(flaky.messages(), 6)]
    assert heard == ["session.snapshot"] * 4 + ["heartbeat", "session.snapshot"]
    assert len(pauses) == 3
    flaky.close()
