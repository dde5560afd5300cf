"""Sockets on one conversation, and events in its log, of a real server."""

from collections.abc import Iterator, Sequence
from functools import partial

import psutil

from benchmarks.device import DECK_TOKEN, Device, leave, read_until
from benchmarks.growth.fit import CONSTANT, LINEAR, Curve
from benchmarks.growth.measure import KIB, cpu_of, peak_above, rise_kib
from benchmarks.servers import Running, gunicorn

SOCKETS = (1, 10, 100, 1000)
EVENTS = (100, 1000, 10_000, 100_000)
EVENTS_OF_A_CALL = 4
EVENTS_AROUND = 6
CALLS = 100
CALLS_AT_ONCE = 200
"""Fewer events than a socket's queue takes: on a busy machine the client is itself too slow."""
TOML = f"""
[runtime]
turn_handler = "player"
handlers = {{ player = "tests.deck.e2e.player:Player" }}
[storage]
directory = "{{home}}/store"
fsync = "never"
[deck]
token = "{DECK_TOKEN}"
event_log_limit = 1000000
event_log_bytes = 1073741824
"""


def sockets(sizes: Sequence[int]) -> Iterator[Curve]:
    """A message to all of them, and their memory."""
    message = Curve("a message to that many sockets of one conversation", "us", LINEAR)
    memory = Curve("memory of that many sockets", "KiB", LINEAR)
    events = EVENTS_OF_A_CALL * CALLS + EVENTS_AROUND
    with gunicorn(TOML, places=sizes[-1] + 50) as server:
        worker = _worker(server)
        devices = [Device(server.port)]
        _say(devices, f"calls {CALLS} 0", 1)  # what the first turn loads is not counted
        before, turns = worker.memory_info().rss, 1
        for size in sizes:
            while len(devices) < size:
                devices.append(Device(server.port, devices[0].session_id))
                _hear(devices[-1:], turns)
            memory.add(size, rise_kib(before, worker.memory_info().rss))
            turns += 1
            began = cpu_of(worker)
            _say(devices, f"calls {CALLS} 0", turns)
            message.add(size, (cpu_of(worker) - began) * 1e6 / events)
        leave(devices)
    yield from (message, memory)


def events(sizes: Sequence[int]) -> Iterator[Curve]:
    """An event's way into the log, the replay of all of them, and what memory that takes."""
    append = Curve("an event, from the handler to the device; all up to that many", "us", CONSTANT)
    replay = Curve("the replay of that many events", "us", LINEAR)
    peak = Curve("the peak of memory while that many are replayed", "KiB", CONSTANT)
    with gunicorn(TOML) as server:
        worker = _worker(server)
        writer = Device(server.port)
        done, turns = 0, 0
        for size in sizes:
            began = cpu_of(worker)
            wanted = size
            while done < wanted:
                calls = max(
                    1, min(CALLS_AT_ONCE, (wanted - done - EVENTS_AROUND) // EVENTS_OF_A_CALL)
                )
                turns += 1
                _say([writer], f"calls {calls} 0", turns)
                done += calls * EVENTS_OF_A_CALL + EVENTS_AROUND
            append.add(size, (cpu_of(worker) - began) * 1e6 / size)
            began = cpu_of(worker)
            peak.add(size, peak_above(worker, partial(_replay, server, writer, turns)) / KIB)
            replay.add(size, (cpu_of(worker) - began) * 1e6)
        leave([writer])
    yield from (append, replay, peak)


def _replay(server: Running, writer: Device, turns: int) -> None:
    device = Device(server.port, writer.session_id)
    _hear([device], turns)
    leave([device])


def _say(devices: list[Device], text: str, turns: int) -> None:
    """A prompt from the first device; all of them hear it out."""
    devices[0].send(text, f"m{turns}")
    _hear(devices, turns)


def _hear(devices: list[Device], turns: int) -> None:
    """Until each has heard the end of so many turns."""
    read_until(devices, _nothing, lambda device: device.ends >= turns)


def _nothing(device: Device, data: bytes) -> None:
    del device, data


def _worker(server: Running) -> psutil.Process:
    (worker,) = psutil.Process(server.pid).children()
    return worker
