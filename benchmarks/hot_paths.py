"""The three paths that run most, one operation after another; for bench_hot_paths and profilers.

`.venv/bin/python -m benchmarks.hot_paths PATH COUNT`, PATH one of PATHS; prints the processor time
of one operation.  `py-spy record -- ...` or `valgrind --tool=callgrind ...` before it shows where
that goes.
"""

from gevent import monkey

monkey.patch_all()


import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from gevent import subprocess

from mead import Mead
from mead.actors.tasks import TaskSupervisor
from mead.deck import builders
from mead.deck.event_log import Limits
from mead.deck.feed import Feed
from mead.deck.file_log import FileEventLog
from mead.deck.memory_socket import MemorySocket
from mead.deck.recorder import Recorder
from mead.ids import new_uuid
from mead.storage.disk import RealDisk
from mead.storage.event_files import EventFiles
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy

WARM_UP: Final = 20
TURNS: Final = 20
SCRIPT: Final = {"local": {"provider": "scripted", "script": [{"text": "Hello there."}]}}
"""A model that answers at once."""


@contextmanager
def turn(operations: int) -> Generator[Callable[[], None]]:
    """A routed turn through the public API, stored under `fsync = "never"`.

    Each conversation has TURNS of them, because a turn costs what its history costs.
    """
    sessions = operations // TURNS + 2
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            "runtime": {"maximum_sessions": sessions},
            "storage": {"directory": directory, "fsync": "never"},
            "router": {"slots": SCRIPT},
        }
        with Mead(settings) as mead:
            ids = [mead.start_session() for _ in range(sessions)]
            places = iter(range(sessions * TURNS))

            def one() -> None:
                mead.submit_turn(ids[next(places) // TURNS], "list the files")

            yield one


@contextmanager
def event(_: int) -> Generator[Callable[[], None]]:
    """An event made true: numbered, written to a file, applied, and given to one device."""
    with tempfile.TemporaryDirectory() as name:
        disk, directory = RealDisk(), Path(name)
        policy = WritePolicy(fsync="never", compact_after_bytes=1 << 40)
        files = EventFiles(disk, directory, policy, Syncer(3_600_000))
        log, state = FileEventLog.open(files, new_uuid(), Limits(1 << 30, 1 << 40))
        recorder, device = Recorder(log, state), _Sink()
        recorder.feeds.append(Feed(device, "device", log, state, 0))
        turn_id = new_uuid()

        def one() -> None:
            recorder.record(builders.text_deltas(turn_id, "a few words of an answer "))

        yield one
        log.close()
        disk.close()


@contextmanager
def token(_: int) -> Generator[Callable[[], None]]:
    """A whole answer of 1,000 tokens: read from a model's server, shown on a deck, stored."""
    with _deck("stream_server.py", "/chat/1", 1) as one:
        yield one


@contextmanager
def answer(operations: int) -> Generator[Callable[[], None]]:
    """The same of 20 tokens that come at once: what a turn costs around its tokens."""
    with _deck("replay_server.py", "/now/v1", operations // TURNS + 2) as one:
        yield one


@contextmanager
def _deck(server: str, path: str, conversations: int) -> Generator[Callable[[], None]]:
    model = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(server))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert model.stdin is not None
    assert model.stdout is not None
    url = f"http://127.0.0.1:{int(model.stdout.readline())}{path}"
    slots = {"local": {"provider": "openai", "model": "replay", "base_url": url}}
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            "storage": {"directory": directory, "fsync": "never"},
            "runtime": {"turn_timeout_ms": 300_000},
            "router": {"slots": slots},
            "deck": {"token": "deck-token-of-the-benchmark-0123456789"},
        }
        with Mead(settings) as mead:
            deck, serving = mead.deck(), TaskSupervisor("serving")
            devices: list[MemorySocket] = []
            for _ in range(conversations):
                device, session_id = MemorySocket(), deck.redeem(deck.issue_ticket().ticket)
                device.hear_timeout_ms = 300_000  # under valgrind all takes fifty times as long
                serving.start(partial(deck.serve, device, session_id))
                device.say("session.resume", last_sequence=0)
                devices.append(device)
            turns = count()

            def one() -> None:
                device = devices[next(turns) // TURNS % conversations]
                device.say("prompt.send", client_message_id=new_uuid(), text="list the files")
                while device.hear("metric.updated")["payload"]["name"] != "tokens_out":
                    pass

            yield one
            for device in devices:
                device.hang_up()
            serving.stop()
    model.stdin.close()
    model.wait()


class _Sink(MemorySocket):
    """A device that has read at once whatever it is sent."""

    def send(self, frame: bytes, *, counts: bool = True) -> bool:
        return counts and bool(frame)


PATHS: Final = {
    "turn": (turn, 1),
    "event": (event, 1),
    "token": (token, 1000),
    "answer": (answer, 1),
}
"""Each path, and how many of what it counts one operation holds."""


def main(name: str, operations: int) -> None:
    path, each = PATHS[name]
    with path(operations) as one:
        for _ in range(1 if each > 1 else WARM_UP):
            one()
        started = time.process_time()
        for _ in range(operations):
            one()
        spent = time.process_time() - started
    print(f"{spent / (operations * each) * 1e6:.2f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
