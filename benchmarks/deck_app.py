"""The real application with a model that tells the time, and a bare loop beside its deck.

Run by gunicorn for bench_deck.
"""

import gc
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from flask import Response, jsonify, request

from blueprints.guards import Access, access
from mead.actors.green import pause, sleep_ms
from mead.actors.tasks import TaskSupervisor
from mead.api import Mead
from mead.config import load_settings
from mead.protocols import FrameSocket, ModelReply, ModelRequest
from mead.web.websocket.frames import encode_text
from wsgi import create_app

TOKEN_MS = 50
"""A fast model; further apart than the joining window, so that each token is an event."""


class Clock:
    """A model whose every token is the time at which it came."""

    name = "clock"
    model = "clock"
    host: str | None = None

    def complete(self, request: ModelRequest) -> ModelReply:
        return self.converse_stream(request, lambda _: None)

    converse = complete

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        tokens: list[str] = []
        for _ in range(int(request.prompt)):
            sleep_ms(TOKEN_MS)
            tokens.append(f"{time.monotonic_ns()} ")
            on_text(tokens[-1])
        return ModelReply(text="".join(tokens), stop_reason="end_turn")


settings = load_settings(os.environ, Path(__file__).parents[1])
mead = Mead(settings, providers={"local": Clock()})
app = create_app(settings, mead)


def everyone() -> list[FrameSocket]:
    """The sockets of every conversation."""
    return [socket for some in mead.deck()._sockets.values() for socket in some]


@app.get("/bare")
@access(Access.OPEN)
def bare() -> Response:
    """The yardstick: frames of one size to every socket of the deck, without a deck."""
    frame = encode_text(b"x" * int(request.args["size"]))
    sockets = everyone()
    cpu = time.process_time()
    for _ in range(int(request.args["events"])):
        for socket in sockets:
            socket._connection.sendall(frame)
        pause()
    return jsonify(cpu_s=time.process_time() - cpu)


@app.get("/ticks")
@access(Access.OPEN)
def ticks() -> Response:
    """The yardstick: to every socket the time, at the model's pace, straight from a greenlet."""
    count = int(request.args["count"])

    def tick(socket: FrameSocket) -> None:
        for _ in range(count):
            sleep_ms(TOKEN_MS)
            socket.send(encode_text(b'"text":"%d "' % time.monotonic_ns()))

    tasks = TaskSupervisor("ticks")
    running = [tasks.start(partial(tick, socket), name="tick") for socket in everyone()]
    assert all(task.wait().ok for task in running)
    return jsonify(sockets=len(running))


@app.get("/resident")
@access(Access.OPEN)
def resident() -> Response:
    """This process's resident memory in bytes, and the processor's time that it has used."""
    cpu_s = time.process_time()
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return jsonify(bytes=pages * 4096, sockets=len(everyone()), cpu_s=cpu_s)
