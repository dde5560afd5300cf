"""When the client comes back, and what it does about a server that is not one; against real servers
it is tested in tests/deck/e2e."""

import gzip
from contextlib import suppress
from itertools import islice

import gevent
import pytest
from gevent.event import Event

from mead.deck import client
from mead.deck.client import FIRST_PAUSE_S, LONGEST_PAUSE_S, DeckClient
from mead.deck.client_errors import DeckClosed, DeckMisspoke, DeckRefused
from tests.helpers.deck_fake import (
    SESSION_ID,
    SNAPSHOT,
    TICKET,
    TURN_ID,
    FakeDeck,
    answer,
    message,
    serving,
)


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
            raise DeckClosed(1006, "")
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


# -- after every code of docs/deck-protocol.md, "Closing" ------------------------------------------


def leave(code, reason=""):
    """A visit in which something was said, that ends so."""

    def visit(ws):
        ws.welcome()
        ws.tell(message("heartbeat", {}))
        ws.close(code, reason)

    return visit


def stay(ws):
    ws.welcome()
    ws.hear()


@pytest.mark.parametrize(
    ("code", "reason", "waits"),
    [
        (1001, "idle", False),
        (1001, "restart", True),
        (1011, "the conversation's channel failed", True),
        (1012, "", False),
        (1013, "too slow", False),
        (4401, "no session.resume in time", False),
        (4409, "stopped", False),
    ],
)
def test_after_this_code_the_client_comes_back_with_a_new_ticket(pauses, code, reason, waits):
    with serving(FakeDeck(leave(code, reason), stay)) as fake, DeckClient(fake.url, "t") as deck:
        heard = [each["type"] for each in islice(deck.messages(), 2)]
    assert heard == ["heartbeat", "session.snapshot"]
    assert [head.split(b" ", 1)[0] for head in fake.asked] == [b"POST", b"GET"] * 2
    assert len(pauses) == waits
    assert all(pause >= 0.5 * FIRST_PAUSE_S for pause in pauses)


def test_a_lost_connection_is_followed_at_once_by_another(pauses):
    def lose(ws):
        ws.welcome()

    with serving(FakeDeck(lose, stay)) as fake, DeckClient(fake.url, "t") as deck:
        assert next(deck.messages())["type"] == "session.snapshot"
    assert (fake.came, pauses) == (2, [])


@pytest.mark.parametrize("code", [1000, 4404])
def test_after_this_code_there_is_nothing_to_come_back_to(pauses, code):
    with serving(FakeDeck(leave(code))) as fake, DeckClient(fake.url, "t") as deck:
        assert [each["type"] for each in deck.messages()] == ["heartbeat"]
    assert (fake.came, pauses) == (1, [])


@pytest.mark.parametrize("code", [1002, 1007, 1008, 1009])
def test_after_this_code_the_client_stops_and_says_why(pauses, code):
    with serving(FakeDeck(leave(code, "why"))) as fake, DeckClient(fake.url, "t") as deck:
        messages = deck.messages()
        assert next(messages)["type"] == "heartbeat"
        with pytest.raises(DeckClosed, match=f"{code} why"):
            next(messages)
    assert (fake.came, pauses) == (1, [])


@pytest.mark.parametrize(("code", "error"), [(1008, DeckClosed), (4404, None)])
def test_a_code_that_comes_instead_of_the_snapshot_counts_as_well(pauses, code, error):
    def refuse(ws):
        ws.hear()
        ws.close(code)

    with serving(FakeDeck(leave(1001), refuse)) as fake, DeckClient(fake.url, "t") as deck:
        messages = deck.messages()
        assert next(messages)["type"] == "heartbeat"
        if error is None:
            assert list(messages) == []
        else:
            with pytest.raises(error):
                next(messages)
    assert (fake.came, pauses) == (2, [])


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_or_a_proxy_that_cannot_answer_now_is_asked_again(pauses, status):
    with serving(FakeDeck(leave(4409), stay)) as fake, DeckClient(fake.url, "t") as deck:
        messages = deck.messages()
        next(messages)
        fake.tickets, good = answer(b"<html>", status=f"{status} No"), fake.tickets

        def mend(seconds):
            pauses.append(seconds)
            fake.tickets = good

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client.time, "sleep", mend)
            assert next(messages)["type"] == "session.snapshot"
    assert len(pauses) == 1


# -- a server that is none, or means harm ----------------------------------------------------------

HUGE = b" " * 70_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b"[" * 20_000,
        b'{"ticket": "a-ticket"}',
        b'{"ticket": "a, b", "session_id": "%s"}' % SESSION_ID.encode(),
        b'{"ticket": 5, "session_id": "%s"}' % SESSION_ID.encode(),
        b'{"ticket": "a-ticket", "session_id": "../x"}',
        HUGE + b'{"ticket": "a-ticket", "session_id": "%s"}' % SESSION_ID.encode(),
    ],
)
def test_an_answer_that_is_no_ticket_is_one_error(body):
    with serving(FakeDeck(stay, tickets=answer(body))) as fake, pytest.raises(DeckMisspoke):
        DeckClient(fake.url, "t").__enter__()
    assert fake.came == 0


@pytest.mark.parametrize("body", [gzip.compress(TICKET), TICKET], ids=["packed", "as if packed"])
def test_identity_is_asked_for_and_a_compressed_ticket_is_refused(body):
    tickets = answer(body, "Content-Encoding: gzip")
    with serving(FakeDeck(stay, tickets=tickets)) as fake, pytest.raises(DeckMisspoke):
        DeckClient(fake.url, "t").__enter__()
    assert b"\r\nAccept-Encoding: identity\r\n" in fake.asked[0]


def test_a_ticket_without_an_end_is_read_to_a_bound():
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    endless, bound = FakeDeck(stay, tickets=head, endless=HUGE), gevent.Timeout(5)
    with serving(endless) as fake, bound, pytest.raises(DeckMisspoke):
        DeckClient(fake.url, "t").__enter__()


@pytest.mark.parametrize("word", [b'"e"', b"[5]", b"null", b'{"x": 1}'])
def test_a_refusal_in_other_words_is_a_refusal(word):
    tickets = answer(b'{"error": %s}' % word, status="418 No")
    with serving(FakeDeck(stay, tickets=tickets)) as fake, pytest.raises(DeckRefused) as refused:
        DeckClient(fake.url, "t").__enter__()
    assert refused.value.code in ("e", "error")


def test_a_redirect_of_the_socket_is_not_followed():
    elsewhere = FakeDeck(stay)
    with serving(elsewhere), serving(FakeDeck(stay)) as fake:
        place = f"Location: {elsewhere.url.replace('http', 'ws')}/deck/socket"
        fake.upgrade = answer(b"", place, status="302 Found")
        with pytest.raises(DeckClosed):
            DeckClient(fake.url, "t").__enter__()
    assert elsewhere.asked == []


ODD = {
    "binary": lambda ws: ws.send(b"\x82\x02{}"),
    "not JSON": lambda ws: ws.tell(b"{"),
    "a list": lambda ws: ws.tell(b"[]"),
    "no payload": lambda ws: ws.tell(b'{"type": "text.delta"}'),
    "no type": lambda ws: ws.tell(b'{"payload": {}, "at": ""}'),
    "a delta of numbers": lambda ws: ws.tell(
        message("text.delta", {"turn_id": TURN_ID, "text": 5}, 1)
    ),
    "a prompt of nobody": lambda ws: ws.tell(message("prompt.accepted", {}, 1)),
    "an id that is a list": lambda ws: ws.tell(
        message("frame.rejected", {"reason": "already_finished", "id": []})
    ),
    "a sequence of letters": lambda ws: ws.tell(
        message("turn.started", {"turn_id": TURN_ID}, "one")
    ),
    "invalid UTF-8": lambda ws: ws.send(b"\x81\x01\xff"),
    "a reserved opcode": lambda ws: ws.send(b"\x83\x00"),
    "a masked frame": lambda ws: ws.send(b"\x81\x80\x00\x00\x00\x00"),
    "17 MB": lambda ws: ws.send(b"\x81\x7f" + (17_000_000).to_bytes(8, "big")),
    "fragments without end": lambda ws: ws.send(b"\x01\x00" + b"\x00\x00" * 5000),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_no_deck_says_is_one_error_in_words(pauses, odd):
    def visit(ws):
        ws.welcome()
        ODD[odd](ws)

    refused = pytest.raises(DeckMisspoke, match="this is no deck of a Mead")
    with serving(FakeDeck(visit)) as fake, DeckClient(fake.url, "t") as deck, refused:
        list(deck.messages())
    assert (fake.came, pauses) == (1, [])


@pytest.mark.parametrize("field", ["log_id", "first_sequence", "reset", "gap", "limits"])
def test_a_snapshot_that_lacks_something_is_one_error(field):
    def visit(ws):
        ws.welcome(**{field: None})

    with serving(FakeDeck(visit)) as fake, pytest.raises(DeckMisspoke):
        DeckClient(fake.url, "t").__enter__()


def test_a_heartbeat_of_the_far_future_is_waited_for_as_long_as_the_longest():
    limits = dict.fromkeys(SNAPSHOT["limits"], 2**53 - 1)

    def visit(ws):
        ws.welcome(limits=limits)
        ws.tell(message("heartbeat", {}))
        ws.hear()

    with serving(FakeDeck(visit)) as fake, DeckClient(fake.url, "t") as deck:
        assert next(deck.messages())["type"] == "heartbeat"


def test_a_server_that_does_not_read_is_left_all_the_same():
    stuck = Event()

    def flood(ws):
        ws.welcome()
        ws.connection.settimeout(0.5)
        with suppress(TimeoutError):
            while True:
                ws.send(b"\x89\x7d" + b"p" * 125)  # a ping, whose pong fills the way back
        stuck.set()
        ws.connection.settimeout(None)
        gevent.sleep(30)

    with serving(FakeDeck(flood)) as fake, gevent.Timeout(15), DeckClient(fake.url, "t"):
        assert stuck.wait(10)
