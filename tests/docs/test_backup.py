"""What docs/operations.md says of a back-up that is made while Mead runs."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import gevent
import pytest

from mead import Mead
from mead.deck.client import DeckClient, DeckClosed
from tests.docs.blocks import written_in
from tests.docs.sandbox import SLOT, STORAGE, TOKENS, Sandbox, sandbox
from tests.helpers.server import DECK_TOKEN
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]

BACK_UP: Final = written_in("sh", "docs/operations.md")[1]
DEVICES: Final = 4
COPIES: Final = 3
SERVE: Final = "exec .venv/bin/gunicorn wsgi:app"
SMALL: Final = STORAGE + "compact_after_bytes = 20000\n"
"""Logs that are rewritten again and again meanwhile."""


@contextmanager
def talking(mead: Sandbox) -> Iterator[set[str]]:
    """Devices that go on and on; gives the ids of their conversations."""
    ids: set[str] = set()

    def talk() -> None:
        with DeckClient(f"http://127.0.0.1:{mead.port}", DECK_TOKEN) as device:
            ids.add(str(device.session_id))
            while True:
                device.send_prompt("more " * 200)
                while device.receive(10)["type"] != "turn.completed":
                    pass

    devices = [gevent.spawn(talk) for _ in range(DEVICES)]
    try:
        assert eventually(lambda: len(ids) == DEVICES, 15)
        yield ids
        assert not any(device.dead for device in devices)
    finally:
        gevent.killall(devices, timeout=10)


def stored(directory: Path, ids: set[str]) -> dict[str, list[str]]:
    """The turns of each conversation, by id.  Fails if one cannot be read."""
    with Mead({"storage": {"directory": str(directory)}}) as mead:
        return {session: [turn.id for turn in mead.history(session)] for session in ids}


def completed(mead: Sandbox, session: str) -> set[str]:
    """The turns that the events of a conversation call completed."""
    found = set()
    url = f"http://127.0.0.1:{mead.port}"
    with DeckClient(url, DECK_TOKEN, session_id=session) as device, suppress(DeckClosed):
        while device.last_sequence < device.snapshot["last_sequence"]:
            message = device.receive(10)
            if message["type"] == "turn.completed":
                found.add(message["payload"]["turn_id"])
    return found


def test_a_back_up_of_a_busy_server_is_a_beginning_of_every_conversation(tmp_path: Path) -> None:
    with sandbox(tmp_path, SLOT, SMALL, TOKENS) as mead:
        mead.serve(SERVE)
        with talking(mead) as ids:
            for _ in range(COPIES):
                mead.run(BACK_UP)
        mead.stop()
        mead.shell("mv var var.end && tar --extract --gzip --file backup.tar.gz")
        ends = stored(mead.directory / "var.end", ids)
        turns = stored(mead.directory / "var", ids)
        for session in ids:
            assert len(turns[session]) > 1
            assert ends[session][: len(turns[session])] == turns[session]
        mead.serve(SERVE)
        for session in ids:
            assert completed(mead, session) <= set(turns[session])
        mead.stop()


def test_a_back_up_holds_each_conversations_events_before_its_turns(tmp_path: Path) -> None:
    with sandbox(tmp_path, SLOT, STORAGE, TOKENS) as mead:
        kept = mead.directory / "var"
        kept.mkdir()
        for session in ("b", "a"):
            for suffix in ("title", "log", "events", "log.tmp"):
                (kept / f"{session}.{suffix}").touch()
        mead.run(BACK_UP)
        with tarfile.open(mead.directory / "backup.tar.gz") as archive:
            names = archive.getnames()
    assert names == ["var", *(f"var/{a}.{b}" for a in "ab" for b in ("events", "log", "title"))]
