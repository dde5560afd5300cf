"""The slot: one answer for one waiting greenlet."""

import gevent
import pytest

from mead.actors.slot import Slot


def test_an_answer_that_is_there_already_is_not_waited_for():
    slot = Slot()
    assert not slot.filled
    slot.put("early")
    assert slot.filled
    assert slot.wait(0) == "early"


def test_an_answer_wakes_the_greenlet_that_waits():
    slot = Slot()
    waiting = gevent.spawn(slot.wait, 5000)
    gevent.sleep(0)
    slot.put("now")
    assert waiting.get(timeout=5) == "now"


def test_an_answer_put_in_by_the_hub_runs_the_greenlet_at_once():
    slot = Slot()
    seen = []
    waiting = gevent.spawn(lambda: seen.append(slot.wait(None)))
    gevent.sleep(0)

    def in_the_hub():
        slot.put("now")
        seen.append("after")

    gevent.get_hub().loop.run_callback(in_the_hub)
    waiting.join(5)
    assert seen == ["now", "after"]


def test_no_answer_in_time_is_none_and_a_late_one_is_kept():
    slot = Slot()
    assert slot.wait(10) is None
    slot.put("late")
    assert slot.wait(10) == "late"


def test_only_the_first_answer_counts():
    slot = Slot()
    slot.put(1)
    slot.put(2)
    assert slot.wait(0) == 1


def test_a_killed_greenlet_leaves_the_slot_usable():
    slot = Slot()
    waiting = gevent.spawn(slot.wait, None)
    gevent.sleep(0)
    waiting.kill()
    slot.put("unheard")
    assert slot.wait(0) == "unheard"


def test_a_time_limit_of_someone_else_passes_through():
    slot = Slot()
    with pytest.raises(gevent.Timeout), gevent.Timeout(0.01):
        slot.wait(5000)


def test_many_answers_race_with_their_time_limits():
    slots = [Slot() for _ in range(500)]
    waiting = [gevent.spawn(slot.wait, 5) for slot in slots]
    gevent.sleep(0.004)
    for number, slot in enumerate(slots):
        slot.put(number)
    gevent.joinall(waiting, timeout=5)
    assert all(one.value in (number, None) for number, one in enumerate(waiting))
