"""A log that cannot be written: nobody is told what is not kept, and the next channel goes on."""

import errno
import os
from collections.abc import Iterator

import pytest

from mead.deck.deck import Deck
from mead.sessions.echo import EchoHandler
from mead.sessions.places import Places
from mead.storage.disk import RealDisk, RealFile
from mead.storage.event_files import EventFiles
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy
from tests.helpers.waiting import eventually


class BadDisk(RealDisk):
    """A disk that can be told to refuse."""

    refuses: str | None = None

    def open(self, path, mode):
        file = super().open(path, mode)
        bad = BadFile(os.dup(file._fd))
        bad.disk = self
        file.close()
        return bad


class BadFile(RealFile):
    disk: BadDisk

    def write(self, data: bytes) -> int:
        if self.disk.refuses == "write":
            raise OSError(errno.ENOSPC, "no room")
        if self.disk.refuses == "half":
            self.disk.refuses = "write"
            return super().write(data[: len(data) // 2])
        return super().write(data)

    def sync(self) -> None:
        if self.disk.refuses == "sync":
            raise OSError(errno.EIO, "no")
        super().sync()


@pytest.fixture
def bad_disk() -> Iterator[BadDisk]:
    disk = BadDisk()
    yield disk
    disk.close()


@pytest.fixture(params=[10_000])
def deck(request, make_mead, bad_disk, tmp_path) -> Iterator[Deck]:
    """A deck of its own, whose logs are on the bad disk; the parameter is event_log_limit."""
    mead = make_mead(directory=tmp_path / "conversations", event_log_limit=request.param)
    (tmp_path / "events").mkdir(mode=0o700)
    policy, tree = WritePolicy(fsync="turn", compact_after_bytes=1), mead._parts.tree
    deck = Deck(
        mead.settings.deck,
        api=mead,
        places=Places(lambda: tree.sessions, EchoHandler(), 1000),
        find_session=tree.registry.lookup,
        files=EventFiles(bad_disk, tmp_path / "events", policy, Syncer(1000)),
        maximum_sessions=10,
    ).start()
    deck.mead = mead
    yield deck
    deck.stop()


@pytest.mark.parametrize("refusal", ["write", "half", "sync"])
def test_a_prompt_that_cannot_be_logged_is_told_to_nobody(deck, devices, bad_disk, refusal):
    mead = deck.mead
    session_id = mead.start_session()
    device = devices.at(mead, session_id, deck=deck).come()
    device.ask("hi")
    other = devices.at(mead, session_id, deck=deck).come(last_sequence=0)
    other.hear_all(device.last_sequence)
    bad_disk.refuses = refusal
    device.send("lost", "m2")
    assert device.gone()[0] == other.gone()[0] == 1011
    device.hear_out()
    assert "lost" not in [each["text"] for each in device.of("prompt.accepted")]
    bad_disk.refuses = None
    device.come()
    assert not device.snapshot["reset"]
    assert device.ask("back", "m3") == "Hello"
    assert [e["sequence"] for e in device.events] == list(range(1, device.last_sequence + 1))
    assert [turn.input for turn in mead.history(session_id)] == ["hi", "back"]


def test_a_device_that_comes_to_a_log_that_cannot_be_written_may_try_again(deck, devices, bad_disk):
    mead = deck.mead
    session_id = mead.start_session()
    mead.submit_turn(session_id, "made elsewhere")
    bad_disk.refuses = "write"
    device = devices.at(mead, session_id, deck=deck).connect()
    device.say("session.resume", last_sequence=0)
    assert device.gone()[0] == 1011
    bad_disk.refuses = None
    device.come().hear_end()
    assert device.of("prompt.accepted")[0]["text"] == "made elsewhere"


def test_a_turn_that_cannot_be_logged_to_its_end_is_made_whole_later(deck, devices, bad_disk):
    mead = deck.mead
    session_id = mead.start_session()
    device = devices.at(mead, session_id, deck=deck).come()
    device.send("hi")
    device.hear("turn.started")
    bad_disk.refuses = "write"
    assert device.gone()[0] == 1011
    eventually(lambda: mead.history(session_id)[0].status != "running")
    bad_disk.refuses = None
    device.come()
    device.hear_end()
    assert device.types().count("turn.completed") + device.types().count("turn.failed") == 1


@pytest.mark.parametrize("deck", [10], indirect=True)
def test_a_compaction_that_fails_costs_nothing(deck, devices, bad_disk, caplog):
    mead = deck.mead
    session_id = mead.start_session()
    device = devices.at(mead, session_id, deck=deck).come()
    rename = bad_disk.rename

    def refuse(old, new):
        raise OSError(errno.EROFS, "read only")

    bad_disk.rename = refuse
    for number in range(4):
        device.ask("hi", f"m{number}")
    assert "not compacted" in caplog.text
    bad_disk.rename = rename
    device.ask("hi", "last")
    assert devices.at(mead, session_id, deck=deck).come(last_sequence=0).snapshot["gap"]
