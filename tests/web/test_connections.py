import gevent
import pytest

from mead.web.connections import WAITING_LIMIT, Connections


def test_places_are_given_up_to_the_limit_and_given_again():
    connections = Connections(2)
    assert connections.enter(0)
    assert connections.enter(0)
    assert not connections.enter(0)
    assert (connections.open, connections.refused) == (2, 1)
    connections.leave()
    assert connections.enter(0)
    assert (connections.open, connections.refused) == (2, 1)


def test_one_who_waits_gets_the_place_that_becomes_free():
    connections = Connections(1)
    connections.enter()
    waiting = gevent.spawn(connections.enter, 5000)
    gevent.sleep(0)
    connections.leave()
    assert waiting.get(timeout=5)
    assert connections.refused == 0


def test_a_full_waiting_room_refuses_at_once():
    connections = Connections(1)
    connections.enter()
    waiting = [gevent.spawn(connections.enter, 60_000) for _ in range(WAITING_LIMIT)]
    gevent.sleep(0)
    assert connections.crowded
    assert not connections.enter(60_000)
    gevent.killall(waiting)
    assert not connections.crowded


def test_draining_cuts_the_idle_and_asks_the_websockets_to_go():
    connections = Connections(1)
    heard = []
    unregister = connections.register(lambda code, reason: heard.append("gone"))
    connections.register(lambda code, reason: heard.append((code, reason)))
    unregister()
    with connections.idle(lambda: heard.append("cut"), fresh=False):
        connections.drain()
    assert connections.draining
    assert heard == ["cut", (1001, "restart")]


def test_a_connection_that_becomes_idle_while_draining_is_cut():
    connections = Connections(1)
    connections.drain()
    heard = []
    with connections.idle(lambda: heard.append("cut"), fresh=False):
        assert heard == ["cut"]


def test_a_connection_that_has_just_come_is_cut_later():
    connections = Connections(1)
    heard = []
    with connections.idle(lambda: heard.append("cut"), fresh=True):
        connections.drain()
        assert heard == []
        connections.cut_idle(fresh=True)
        assert heard == ["cut"]


def test_a_busy_connection_is_not_cut():
    connections = Connections(1)
    heard = []
    with connections.idle(lambda: heard.append("cut"), fresh=False):
        pass
    connections.drain()
    assert heard == []


@pytest.mark.parametrize("fault", [OSError("gone"), ValueError("a bug")])
def test_one_websocket_that_fails_does_not_spare_the_others(fault):
    connections = Connections(1)
    heard = []

    def failing(code, reason):
        raise fault

    for close in (failing, lambda code, reason: heard.append(code), failing):
        connections.register(close)
    connections.close_all(1012, "moved")
    assert heard == [1012]
