"""A storage directory that others can write to, or that goes away under a running Mead."""

import os
import shutil
from pathlib import Path

import pytest
from gevent import Timeout

from mead import Mead, errors
from mead.storage import lock


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    directory = tmp_path / "var"
    directory.mkdir()
    (directory / lock.LOCK_NAME).symlink_to(victim)
    with pytest.raises(errors.MeadError):
        Mead({"storage": {"directory": str(directory)}}).start()
    assert victim.read_text() == "precious"


def test_a_log_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    directory = tmp_path / "var"
    with Mead({"storage": {"directory": str(directory)}}) as mead:
        session_id = mead.start_session()
        mead.submit_turn(session_id, "x")
        mead.stop_session(session_id)
        path = directory / f"{session_id}.log"
        moved = tmp_path / "elsewhere"
        path.rename(moved)
        path.symlink_to(moved)
        with pytest.raises(errors.PersistenceError):
            mead.resume_session(session_id)


def to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("name", ["deck-logins.json", "ledger.journal"])
@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, to_zeros])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str, put) -> None:
    directory = tmp_path / "var"
    directory.mkdir()
    put(directory / name)
    settings = {"storage": {"directory": str(directory)}, "deck": {"token": "t" * 32}}
    with Timeout(5), pytest.raises(errors.PersistenceError, match="something else lies"):
        Mead(settings).start()


def test_a_pipe_in_the_place_of_a_log_is_refused_at_once(tmp_path: Path) -> None:
    with Mead({"storage": {"directory": str(tmp_path / "var")}}) as mead:
        session_id = mead.start_session()
        mead.stop_session(session_id)
        path = tmp_path / "var" / f"{session_id}.log"
        path.unlink()
        os.mkfifo(path)
        with Timeout(5), pytest.raises(errors.PersistenceError, match="something else lies"):
            mead.resume_session(session_id)


def test_a_shared_directory_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(errors.PersistenceError, match="shared"):
        Mead({"storage": {"directory": str(shared)}}).start()
    assert shared.stat().st_mode & 0o7777 == 0o1777


@pytest.mark.parametrize("seconds", [2**38, -(2**37)])
def test_a_file_of_an_impossible_time_is_listed_like_any_other(
    tmp_path: Path, seconds: int
) -> None:
    with Mead({"storage": {"directory": str(tmp_path / "var")}}) as mead:
        session_id = mead.start_session()
        try:
            os.utime(tmp_path / "var" / f"{session_id}.log", (seconds, seconds))
        except OSError:
            os.utime(tmp_path / "var" / f"{session_id}.log", (2**33, 2**33))
        assert [entry.session_id for entry in mead.list_sessions()] == [session_id]


def test_a_directory_that_is_gone_is_noticed(tmp_path: Path) -> None:
    directory = tmp_path / "var"
    with Mead({"storage": {"directory": str(directory)}}) as mead:
        session_id = mead.start_session()
        mead.submit_turn(session_id, "kept")
        shutil.rmtree(directory)
        assert not mead.status()["ready"]
        with pytest.raises(errors.PersistenceError):
            mead.submit_turn(session_id, "not kept")
        assert [turn.input for turn in mead.history(session_id)] == ["kept"]


def test_who_asks_for_the_holder_waits_at_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / lock.LOCK_NAME)
    assert lock.holder(tmp_path) is None


def test_who_asks_for_the_holder_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / lock.LOCK_NAME).symlink_to("/dev/null")
    with pytest.raises(errors.PersistenceError):
        lock.holder(tmp_path)
