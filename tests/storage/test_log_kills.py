"""Greenlets that are killed, or meet, while they use a log; on a real disk."""

import gevent
import pytest

from mead.storage.log import RecordLog
from tests.helpers.waiting import eventually
from tests.storage.held import HeldDisk, kill_while
from tests.storage.numbered import event, numbers


@pytest.fixture
def held():
    disk = HeldDisk()
    yield disk
    disk.let_go()
    disk.close()


def test_a_kill_during_an_append_leaves_a_log_that_goes_on(held, tmp_path) -> None:
    log = RecordLog.create(held, tmp_path / "a.log", sync=True)
    log.append(event(1), sync=True)
    kill_while(held, lambda: log.append(event(2), sync=True))
    log.append(event(3), sync=False)
    log.close()
    assert numbers((tmp_path / "a.log").read_bytes()) == [1, 2, 3]


def test_a_kill_during_a_rewrite_leaves_a_log_that_goes_on(held, tmp_path) -> None:
    log = RecordLog.create(held, tmp_path / "a.log", sync=True)
    log.append(event(1), sync=True)
    kill_while(held, lambda: log.rewrite([event("new")]))
    log.append(event(2), sync=True)
    log.close()
    assert numbers((tmp_path / "a.log").read_bytes()) == [1, 2]
    assert eventually(lambda: [path.name for path in tmp_path.iterdir()] == ["a.log"])


def test_a_kill_while_a_log_is_opened_or_created_leaves_no_descriptor(held, tmp_path) -> None:
    """The leak check looks for it."""
    path = tmp_path / "a.log"
    kill_while(held, lambda: RecordLog.create(held, path, sync=True))
    assert eventually(path.exists)
    held.held.clear()
    kill_while(held, lambda: RecordLog.open(held, path, lambda _: None))


def test_two_greenlets_that_use_a_log_at_once_wait_for_each_other(held, tmp_path) -> None:
    log = RecordLog.create(held, tmp_path / "a.log", sync=True)

    def slow_events():
        for number in range(5):
            gevent.sleep(0)
            yield event(number)

    rewriting = gevent.spawn(log.rewrite, slow_events())
    others = [gevent.spawn(log.append, event(f"after {n}"), sync=n % 2 == 0) for n in range(6)]
    syncing = gevent.spawn(log.sync)
    gevent.joinall([rewriting, syncing, *others], timeout=5, raise_error=True)
    log.close()
    written = numbers((tmp_path / "a.log").read_bytes())
    assert written[:5] == [0, 1, 2, 3, 4]
    assert len(written) == 11


def test_closing_a_log_whose_disk_hangs_gives_up_in_time(held, tmp_path) -> None:
    log = RecordLog.create(held, tmp_path / "a.log", sync=True)
    held.holding = True
    greenlet = gevent.spawn(log.append, event(1), sync=True)
    assert held.held.wait(5)
    greenlet.kill()
    assert log.close(wait_ms=20) is False
    held.let_go()
    assert log.close() is True
