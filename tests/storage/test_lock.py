"""One process at a time; the lock of a real other process."""

import os
import subprocess
import sys
from pathlib import Path

import gevent
import pytest

from mead.errors import StorageLocked
from mead.storage.lock import acquire

HOLDER = """
import sys
from pathlib import Path
from mead.storage.lock import acquire
lock = acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


class Holder:
    """A process that holds the directory until it is told to end."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "held\n"

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(5)
        self.process.stdout.close()


@pytest.fixture
def holder(tmp_path):
    holder = Holder(tmp_path / "storage")
    yield holder
    holder.end()


@pytest.mark.spec("storage.single-writer")
def test_a_second_process_is_refused_with_the_directory_and_the_holders_pid(
    holder, tmp_path
) -> None:
    with pytest.raises(StorageLocked) as refused:
        acquire(tmp_path / "storage")
    assert str(tmp_path / "storage") in refused.value.message
    assert f"pid {holder.process.pid}" in refused.value.message


def test_a_second_process_waits_for_the_first_to_end(holder, tmp_path) -> None:
    waits = []

    def on_wait() -> None:
        waits.append(True)
        if len(waits) == 2:
            holder.end()

    with acquire(tmp_path / "storage", wait_s=10, on_wait=on_wait):
        assert len(waits) >= 2
        assert (tmp_path / "storage" / "mead.lock").read_text() == f"{os.getpid()}\n"


def test_a_wait_that_is_too_short_is_refused_and_lets_others_run(holder, tmp_path) -> None:
    ran = []
    other = gevent.spawn(ran.append, True)
    with pytest.raises(StorageLocked):
        acquire(tmp_path / "storage", wait_s=0.15, on_wait=lambda: None)
    assert ran == [True]
    other.join()


def test_a_killed_holder_leaves_no_lock(holder, tmp_path) -> None:
    holder.process.kill()
    holder.process.wait(5)
    acquire(tmp_path / "storage").release()


def test_two_holders_in_one_process_exclude_each_other(tmp_path) -> None:
    with acquire(tmp_path / "storage"), pytest.raises(StorageLocked, match=f"pid {os.getpid()}"):
        acquire(tmp_path / "storage")
    lock = acquire(tmp_path / "storage")
    lock.release()
    lock.release()


def test_the_lock_makes_the_directory_private(tmp_path) -> None:
    with acquire(tmp_path / "deep" / "storage"):
        assert (tmp_path / "deep" / "storage").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "deep" / "storage" / "mead.lock").stat().st_mode & 0o777 == 0o600


def test_a_pid_longer_than_the_next_leaves_nothing_behind(tmp_path) -> None:
    (tmp_path / "mead.lock").write_text("99999999999999\n")
    with acquire(tmp_path):
        assert (tmp_path / "mead.lock").read_text() == f"{os.getpid()}\n"


def test_a_lock_file_without_a_pid_is_held_all_the_same(holder, tmp_path) -> None:
    (tmp_path / "storage" / "mead.lock").write_text("")
    with pytest.raises(StorageLocked, match="pid unknown"):
        acquire(tmp_path / "storage")


@pytest.mark.spec("storage.heroku")
def test_on_heroku_a_warning_says_that_the_disk_is_wiped(tmp_path, caplog) -> None:
    acquire(tmp_path, environment={}).release()
    assert caplog.text == ""
    acquire(tmp_path, environment={"DYNO": "web.1"}).release()
    assert "wiped" in caplog.text
