"""Clients that do not read, or slowly: they slow nobody, and lack nothing in the end."""

from contextlib import ExitStack

import gevent
import pytest

from tests.deck.e2e.client import Client
from tests.deck.e2e.listener import Listener

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

EVENTS_PER_CALL = 4
AROUND = 6
"""Accepted, started, the last delta, completed, two metrics."""
SMALL = 4096
"""The receive buffer of who does not read: the kernel takes little off the server's hands."""


def events_of(calls: int) -> int:
    """How many events a turn of the prompt `calls` has."""
    return calls * EVENTS_PER_CALL + AROUND


def test_one_frozen_socket_of_fifty_slows_no_other_and_catches_up(make_server):
    """1,000 events a second; the frozen one's queue overflows, it is closed and resumes."""
    server = make_server(stored=False)
    calls = 1500
    last = events_of(calls)
    with ExitStack() as held:
        talker = held.enter_context(Client(server).come())
        id_ = talker.session_id
        others = [held.enter_context(Client(server, id_).come()) for _ in range(48)]
        frozen = held.enter_context(Client(server, id_, "frozen").come(buffer=SMALL))
        listeners = [Listener(client) for client in (talker, *others)]
        talker.send(f"calls {calls} 4")
        gevent.joinall([gevent.spawn(each.listen, last) for each in listeners], timeout=60)
        assert [each.last for each in listeners] == [last] * 49
        assert all(each.is_in_order for each in listeners)
        late = Listener(frozen)
        while late.read():
            pass
        # It is told so if it reads again within a second, and cut if it does not.
        assert late.closed in (None, (1013, "too slow"))
        assert late.is_in_order
        assert 0 < late.last < last
        frozen.events = [{"sequence": late.last}]
        again = Listener(frozen.come())
        again.listen(last)
        assert again.is_in_order


def test_a_replay_of_ten_thousand_events_to_a_slow_client_is_not_cut(make_server):
    server = make_server(storage='fsync = "never"', event_log_limit=20_000)
    calls = 2500
    last = events_of(calls)
    with Client(server).come() as talker:
        talker.send(f"calls {calls} 1")
        Listener(talker).listen(last)
        with Client(server, talker.session_id, "slow").come(buffer=SMALL) as slow:
            listener = Listener(slow)
            while listener.last < last:
                assert listener.read(SMALL)
                gevent.sleep(0.001)
            assert listener.is_in_order
            assert listener.closed is None
            slow.events = [{"sequence": last}]
            slow.socket._reader.buffer.extend(listener._buffer)
            slow.send("and live again", "m2")
            assert slow.hear("text.delta")["payload"]["text"] == "and live again"
