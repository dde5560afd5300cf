import time

import gevent
import pytest
from gevent.event import Event

from mead.actors.green import Timeout, pause, sleep_ms, time_limit


def work_ms(duration_ms):
    """Hold the hub that long."""
    until = time.perf_counter() + duration_ms / 1000
    while time.perf_counter() < until:
        pass


def test_who_works_and_pauses_lets_timers_fire():
    fired = Event()

    def wait():
        sleep_ms(1)
        fired.set()

    waiting = gevent.spawn(wait)
    pause()
    for _ in range(4):
        work_ms(2)
        pause()
    assert fired.is_set()
    waiting.join()


def test_who_works_and_pauses_lets_a_time_limit_end_it():
    pauses = []

    def work():
        while len(pauses) < 20:
            work_ms(2)
            pauses.append(1)
            pause()

    with pytest.raises(Timeout), time_limit(1):
        work()
    assert len(pauses) <= 4


def test_a_pause_lets_every_ready_greenlet_run():
    ran = []
    others = [gevent.spawn(ran.append, number) for number in range(100)]
    pause()
    assert ran == list(range(100))
    gevent.joinall(others)
