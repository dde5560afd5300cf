"""Long loops leave room for others."""

from gevent import spawn

from mead.actors.green import with_pauses


def test_others_run_between_the_steps_of_a_long_loop():
    seen: list[object] = []
    other = spawn(lambda: seen.append("other"))
    seen.extend(with_pauses(range(5), 3))
    assert seen == [0, 1, 2, "other", 3, 4]
    assert other.ready()


def test_a_short_loop_does_not_wait():
    seen: list[object] = []
    other = spawn(lambda: seen.append("other"))
    seen.extend(with_pauses(range(2), 3))
    assert seen == [0, 1]
    other.join()
