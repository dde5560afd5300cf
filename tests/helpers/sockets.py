"""The real application with WebSocket routes, for tests of the engine behind them.

Loaded by gunicorn as `tests.helpers.sockets:app`.
"""

import os
from pathlib import Path

import gevent
from flask import Response, jsonify, request
from websockets.frames import Frame, Opcode

from blueprints.guards import Access, access
from blueprints.sockets import add_sockets, socket_route
from mead.protocols.sockets import FrameSocket
from mead.web.lifecycle import PROCESS
from mead.web.websocket.engine import WebSocketEngine
from mead.web.websocket.frames import encode_text
from wsgi import create_app

app = create_app()
connections = app.extensions[PROCESS].connections
add_sockets(
    app,
    WebSocketEngine(
        connections,
        subprotocols=("mead.test.v1",),
        message_bytes=int(os.environ.get("TEST_MESSAGE_BYTES", "1048576")),
    ),
)
listening: set[FrameSocket] = set()


def say(line: str) -> None:
    """A line in the server's log."""
    print(line, flush=True)  # noqa: T201


@access(Access.OPEN)
def echo(socket: FrameSocket) -> None:
    """Send everything back, at the client's pace; say how it ended."""
    while (message := socket.receive()) is not None:
        text = isinstance(message, str)
        opcode, data = (Opcode.TEXT, message.encode()) if text else (Opcode.BINARY, message)
        socket.send_paced(Frame(opcode, data).serialize(mask=False))
    say(f"echo: closed {tuple(socket.closed)}")


@access(Access.OPEN)
def listen(socket: FrameSocket) -> None:
    """Get what is broadcast."""
    listening.add(socket)
    try:
        while socket.receive() is not None:
            pass
    finally:
        listening.remove(socket)
        say(f"listen: closed {tuple(socket.closed)}")


@access(Access.OPEN)
def bug(socket: FrameSocket) -> None:
    """Raise at the first message."""
    socket.send(encode_text(b"before"))
    socket.receive()
    raise ZeroDivisionError("the-secret-of-the-bug")


@access(Access.OPEN)
def hang(socket: FrameSocket) -> None:
    """Never look at the socket again."""
    say("hang: began")
    try:
        gevent.sleep(3600)
    finally:
        say("hang: ended")


for name, view in {"echo": echo, "listen": listen, "bug": bug, "hang": hang}.items():
    socket_route(app, f"/{name}", view)


@app.get("/broadcast")
@access(Access.OPEN)
def broadcast() -> Response:
    """Send numbered texts of `size` bytes to all who listen, one in each turn of the hub."""
    for number in range(int(request.args["count"])):
        frame = encode_text(f"{number:08} ".encode().ljust(int(request.args["size"]), b"."))
        for socket in tuple(listening):
            socket.send(frame)
        gevent.sleep(0)
    return jsonify(listening=len(listening))


@app.get("/held")
@access(Access.OPEN)
def held() -> Response:
    """What the process holds."""
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return jsonify(descriptors=descriptors, closers=len(connections._closers))
