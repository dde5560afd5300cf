"""The real disk: private files, and threads that keep the hub free."""

import errno
import threading

import gevent
import pytest
from gevent import monkey

from mead.storage.disk import RealDisk
from mead.storage.disk_threads import THREADS
from tests.helpers.waiting import eventually
from tests.storage.gate import Gate


@pytest.fixture
def disk():
    disk = RealDisk()
    yield disk
    disk.close()


def test_a_file_is_made_private_and_only_once(disk, tmp_path) -> None:
    disk.open(tmp_path / "a", "create").close()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        disk.open(tmp_path / "a", "create")


@pytest.mark.parametrize("mode", ["read", "append"])
def test_opening_a_file_does_not_make_one(disk, tmp_path, mode) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open(tmp_path / "a", mode)


def test_writes_go_to_the_end_also_after_a_cut(disk, tmp_path) -> None:
    file = disk.open(tmp_path / "a", "create")
    assert file.write(b"hello world") == 11
    file.truncate(5)
    file.write(b"!")
    file.sync()
    assert file.read(0, 100) == b"hello!"
    assert file.read(4, 1) == b"o"
    assert file.read(6, 10) == b""
    file.close()
    file.close()


def test_a_listing_shows_files_alone(disk, tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (entry,) = disk.listing(tmp_path)
    assert (entry.name, entry.size) == ("file", 5)
    assert entry.modified == pytest.approx((tmp_path / "file").stat().st_mtime)


def test_a_job_hands_back_its_value_or_its_error(disk) -> None:
    assert disk.start(lambda: 7).wait() == 7

    def fails() -> None:
        raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(OSError, match="no space"):
        disk.start(fails).wait()


def test_a_job_runs_outside_of_the_hubs_thread_and_the_hub_goes_on(disk) -> None:
    gate = Gate()
    here = threading.get_ident()
    job = disk.start(lambda: gate.wait() and monkey.get_original("_thread", "get_ident")())
    for _ in range(3):
        gevent.sleep(0)
    assert not job.done
    gate.set()
    assert job.wait() != here


def test_a_job_that_hangs_holds_up_no_other(disk) -> None:
    gate = Gate()
    hanging = [disk.start(lambda: gate.wait()) for _ in range(THREADS - 1)]
    jobs = [disk.start(lambda number=number: number) for number in range(200)]
    assert [job.wait() for job in jobs] == list(range(200))
    assert not any(job.done for job in hanging)
    gate.set()
    assert all(job.wait() for job in hanging)


def test_more_jobs_than_threads_wait_their_turn(disk) -> None:
    gate = Gate()
    jobs = [disk.start(lambda: gate.wait()) for _ in range(3 * THREADS)]
    gate.set()
    assert all(job.wait() for job in jobs)


def test_a_greenlet_killed_while_it_waits_leaves_at_once_and_the_job_ends(disk) -> None:
    gate, ended = Gate(), []
    job = disk.start(lambda: (gate.wait(), ended.append(True)))
    waiting = gevent.spawn(job.wait)
    gevent.sleep(0)
    waiting.kill(timeout=5)
    assert waiting.dead
    assert not job.done
    gate.set()
    assert eventually(lambda: ended == [True])


def test_closing_the_disk_ends_its_threads_and_it_can_be_used_again() -> None:
    count = monkey.get_original("_thread", "_count")
    before = count()
    disk = RealDisk()
    gate = Gate()
    jobs = [disk.start(lambda: gate.wait()) for _ in range(4)]
    assert eventually(lambda: count() >= before + 4)
    gate.set()
    assert all(job.wait() for job in jobs)
    disk.close()
    assert eventually(lambda: count() <= before)
    assert disk.start(lambda: 1).wait() == 1
    disk.close()


def test_a_disk_that_was_never_used_has_no_threads() -> None:
    count = monkey.get_original("_thread", "_count")
    before = count()
    RealDisk().close()
    assert count() == before
