"""What docs/operations.md says of a back-up that is made while Mead runs."""

import json
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from mead import Mead
from tests.docs.blocks import written_in
from tests.docs.devices import program
from tests.docs.sandbox import SLOT, STORAGE, TOKENS, Sandbox, sandbox

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]

_, BACK_UP, RESTORE, *_ = written_in("sh", "docs/operations.md")
DEVICES: Final = 4
COPIES: Final = 3
SERVE: Final = "exec .venv/bin/gunicorn wsgi:app"
SMALL: Final = STORAGE + "compact_after_bytes = 20000\n"
"""Logs that are rewritten again and again meanwhile."""


TALK: Final = """
with DeckClient(*sys.argv[1:3]) as device:
    print(device.session_id, device.log_id, flush=True)
    while True:
        device.send_prompt("more " * 200)
        while device.receive(10)["type"] != "turn.completed":
            pass
"""
"""A device that goes on and on; it says which conversation and log are its own."""

LISTEN: Final = """
device = DeckClient(*sys.argv[1:3], session_id=sys.argv[3])
device.log_id, device.last_sequence = sys.argv[4], 5
turns = []
with device:
    starts_over = device.snapshot["reset"]
    while device.last_sequence < device.snapshot["last_sequence"]:
        message = device.receive(10)
        if message["type"] == "prompt.accepted":
            turns.append(message["payload"]["turn_id"])
print(json.dumps([starts_over, turns]))
"""
"""A device that was here before: whether it starts over, and the turns that it is shown."""


@contextmanager
def talking(mead: Sandbox) -> Iterator[dict[str, str]]:
    """Devices that talk; gives the ids of their conversations, each with that of its log."""
    devices = [program(mead.url, TALK) for _ in range(DEVICES)]
    try:
        yield dict(device.stdout.readline().split() for device in devices)
        assert not any(device.poll() for device in devices)
    finally:
        for device in devices:
            device.kill()
            device.communicate(timeout=10)


def stored(directory: Path, ids: Iterable[str]) -> dict[str, list[str]]:
    """The turns of each conversation, by id.  Fails if one cannot be read."""
    with Mead({"storage": {"directory": str(directory)}}) as mead:
        return {session: [turn.id for turn in mead.history(session)] for session in ids}


def shown(mead: Sandbox, session: str, log_id: str) -> list[object]:
    """What LISTEN prints."""
    return json.loads(program(mead.url, LISTEN, session, log_id).communicate(timeout=30)[0])


def test_a_back_up_of_a_busy_server_is_a_beginning_of_every_conversation(tmp_path: Path) -> None:
    with sandbox(tmp_path, SLOT, SMALL, TOKENS) as mead:
        mead.serve(SERVE)
        with talking(mead) as logs:
            for _ in range(COPIES):
                mead.run(BACK_UP)
        mead.stop()
        mead.run(RESTORE)
        ends = stored(mead.directory / "var.before", logs)
        turns = stored(mead.directory / "var", logs)
        for session in logs:
            assert len(turns[session]) > 1
            assert ends[session][: len(turns[session])] == turns[session]
        mead.serve(SERVE)
        for session, log_id in logs.items():
            assert shown(mead, session, log_id) == [True, turns[session]]
        mead.stop()


def test_events_that_were_copied_otherwise_are_not_restored(tmp_path: Path) -> None:
    with sandbox(tmp_path, SLOT, STORAGE, TOKENS) as mead:
        (mead.directory / "var").mkdir()
        for suffix in ("title", "log", "events", "events.corrupt", "log.tmp"):
            (mead.directory / "var" / f"a.{suffix}").touch()
        mead.run(BACK_UP)
        with tarfile.open(mead.directory / "backup.tar.gz") as archive:
            assert sorted(archive.getnames()) == ["var", "var/a.log", "var/a.title"]
        mead.shell("tar --create --gzip --file backup.tar.gz var")
        mead.run(RESTORE)
        assert not list((mead.directory / "var").glob("*.events"))
