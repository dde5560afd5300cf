"""What has to survive the loss of power is on the disk before any device is told of it."""

from collections.abc import Iterator

import pytest
from gevent.event import Event

from mead.actors.tasks import TaskSupervisor
from mead.deck.deck import Deck
from mead.deck.memory_socket import MemorySocket
from mead.sessions.places import Places
from mead.storage.disk import RealDisk, RealFile
from mead.storage.event_files import EventFiles
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy
from tests.deck.conftest import router
from tests.deck.device import Device

UNSYNCED = {"turn.routed", "tool_call.finished", "session.titled"}
SYNCED = {
    "prompt.accepted",
    "prompt.cancelled",
    "turn.started",
    "tool_call.started",  # in one write with the next
    "permission.requested",
    "permission.resolved",
    "permission.forgotten",
    "request.extended",
    "choice.requested",
    "choice.resolved",
    "policy.updated",
    "turn.completed",
    "turn.failed",
    "metric.updated",
}
WRITE = {"name": "notes__write", "arguments": {}}
ASK = {"name": "ask_user", "arguments": {"prompt": "Which?", "options": ["a", "b"]}}


class WatchedDisk(RealDisk):
    """Knows whether everything that was written is synced."""

    def __init__(self) -> None:
        super().__init__()
        self.is_synced = True

    def open(self, path, mode):
        file = super().open(path, mode)
        return file if mode == "read" else WatchedFile(file, self)


class WatchedFile(RealFile):
    def __init__(self, file: RealFile, disk: WatchedDisk) -> None:
        super().__init__(file._fd)
        file._fd = -1
        self._disk = disk

    def write(self, data: bytes) -> int:
        self._disk.is_synced = False
        return super().write(data)

    def sync(self) -> None:
        super().sync()
        self._disk.is_synced = True


class WatchedSocket(MemorySocket):
    """Notes of each event whether the disk had it when it was sent."""

    disk: WatchedDisk

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bool] = []

    def send(self, frame: bytes, *, counts: bool = True) -> bool:
        if b'"sequence"' in frame:
            self.told.append(self.disk.is_synced)
        return super().send(frame, counts=counts)


@pytest.fixture
def disk() -> Iterator[WatchedDisk]:
    disk = WatchedDisk()
    yield disk
    disk.close()


@pytest.fixture
def deck(make_mead, disk, tmp_path, tools) -> Iterator[Deck]:
    """A deck of its own over a runtime without storage, so that nothing else is written."""
    go = Event()
    answers = iter([{"tool_calls": [WRITE]}, {"tool_calls": [ASK]}, {"text": "done"}])
    mead, tasks = make_mead(), TaskSupervisor()
    handler = router(lambda request: go.wait(5) and next(answers, {"text": "x"}), tools, tasks)
    tree = mead._parts.tree
    deck = Deck(
        mead.settings.deck,
        api=mead,
        places=Places(lambda: tree.sessions, handler, 1000),
        find_session=tree.registry.lookup,
        files=EventFiles(
            disk, tmp_path, WritePolicy(fsync="turn", compact_after_bytes=1), Syncer(1000)
        ),
        maximum_sessions=10,
    ).start()
    deck.mead, deck.go, deck.handler = mead, go, handler
    yield deck
    deck.stop()
    tasks.stop()


def test_prompts_answers_levels_and_endings_are_synced_before_they_are_sent(deck, disk, devices):
    session_id = deck.mead.start_session(handler=deck.handler)
    device = devices.at(deck.mead, session_id, deck=deck)
    device.socket_class = WatchedSocket
    WatchedSocket.disk = disk
    device.come()
    live_through(device, deck)
    told = dict.fromkeys(device.types(), True)
    for event, was_synced in zip(device.events, device.socket.told, strict=True):
        told[event["type"]] &= was_synced
    del told["text.delta"]  # the last may be in one write with the ending
    assert told == {type_: type_ in SYNCED for type_ in SYNCED | UNSYNCED}


def live_through(device: Device, deck: Deck) -> None:
    """One turn in which everything happens that can."""
    device.send("go", "m1")
    device.send("never mind", "m2")
    device.say("prompt.cancel", client_message_id="m2")
    device.hear("prompt.cancelled")
    deck.go.set()
    request = device.hear("permission.requested")["payload"]["request_id"]
    device.say("request.extend", request_id=request)
    device.hear("request.extended")
    device.say("permission.respond", request_id=request, answer="allow_always")
    question = device.hear("choice.requested")["payload"]["request_id"]
    device.say("permission.forget", tool="notes__write")
    device.hear("permission.forgotten")
    device.say("policy.set", level="read_only")
    device.hear("policy.updated")
    device.say("choice.respond", request_id=question, option="a")
    device.hear_end()
    deck.set_title(device.session_id, "Tea")
    device.hear("session.titled")
    device.send("fails", "m3", route="cloud")
    device.hear_end()
