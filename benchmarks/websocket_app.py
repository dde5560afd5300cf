"""The real application with the WebSocket routes that bench_websocket asks; run by gunicorn."""

import gc
import time
from pathlib import Path

from flask import Response, jsonify, request

from blueprints.guards import Access, access
from blueprints.sockets import add_sockets, socket_route
from mead.actors.green import pause
from mead.protocols.sockets import FrameSocket
from mead.web.lifecycle import PROCESS
from mead.web.websocket.connection import WebSocket
from mead.web.websocket.engine import WebSocketEngine
from mead.web.websocket.frames import encode_text
from wsgi import create_app

PAYLOAD = b"x" * 100
REPLAY = 10_000

app = create_app()
add_sockets(app, WebSocketEngine(app.extensions[PROCESS].connections))
everyone: list[WebSocket] = []


@access(Access.OPEN)
def echo(socket: FrameSocket) -> None:
    while (message := socket.receive()) is not None:
        socket.send(encode_text(message.encode()))


@access(Access.OPEN)
def fan(socket: WebSocket) -> None:
    everyone.append(socket)
    try:
        while socket.receive() is not None:
            pass
    finally:
        everyone.remove(socket)


@access(Access.OPEN)
def replay(socket: FrameSocket) -> None:
    frame = encode_text(PAYLOAD)
    for _ in range(REPLAY):
        socket.send_paced(frame)


socket_route(app, "/echo", echo)
socket_route(app, "/replay", replay)
socket_route(app, "/fan", fan)


@app.get("/broadcast")
@access(Access.OPEN)
def broadcast() -> Response:
    """Send that many events to everyone, `burst` of them before the others may run."""
    send = {"bare": bare, "queued": queued}[request.args["way"]]
    events, burst = int(request.args["events"]), int(request.args["burst"])
    cpu = time.process_time()
    for number in range(1, events + 1):
        send(encode_text(PAYLOAD))
        if number % burst == 0:
            pause()
    for socket in everyone:
        socket._outgoing.wait_until_empty()
    return jsonify(cpu_s=time.process_time() - cpu)


@app.get("/resident")
@access(Access.OPEN)
def resident() -> Response:
    """This process's resident memory in bytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return jsonify(bytes=pages * 4096, sockets=len(everyone))


def bare(frame: bytes) -> None:
    """The yardstick: what an engine without queues would do."""
    for socket in everyone:
        socket._connection.sendall(frame)


def queued(frame: bytes) -> None:
    """What the deck does."""
    for socket in everyone:
        socket.send(frame)
