"""The real application with a few routes more, for tests that need a request that does something.

Loaded by gunicorn as `tests.helpers.probe:app`; its Mead is the real one.
"""

import os
import sys
import time

import gevent
import requests
from flask import Response, jsonify, request

from blueprints.bodies import DEADLINE_KEY, read_body
from blueprints.guards import Access, access
from mead.actors.exits import Exit
from mead.errors import MeadError
from mead.tree import Tree
from wsgi import create_app

app = create_app()
if "PROBE_BODY_DEADLINE_MS" in os.environ:
    app.config[DEADLINE_KEY] = int(os.environ["PROBE_BODY_DEADLINE_MS"])


def say(text: str) -> None:
    """A line of the log."""
    sys.stderr.write(f"probe: {text}\n")


@app.get("/probe/slow")
@access(Access.OPEN)
def slow() -> Response:
    """Take that many milliseconds; say in the log that it began and how it ended."""
    process = app.extensions["mead.web"]
    say("slow began")
    try:
        gevent.sleep(int(request.args["ms"]) / 1000)
    finally:
        say("slow ended")
    return jsonify(draining=process.connections.draining)


class Sleeper:
    """A turn handler that takes as many milliseconds as the prompt says."""

    def handle_turn(self, history: object, text: str, context: object) -> str:
        gevent.sleep(int(text) / 1000)
        return "slept"


@app.get("/probe/turn")
@access(Access.OPEN)
def turn() -> Response:
    """Submit a turn that no request waits for; say in the log how it ended."""
    runtime = app.extensions["mead"]
    session = runtime.start_session(handler=Sleeper(), turn_timeout_ms=3_600_000)

    def submit(text: str) -> None:
        try:
            say(f"turn {runtime.submit_turn(session, text)}")
        except MeadError as error:
            say(f"turn {error.code}")

    gevent.spawn(submit, request.args["ms"])
    return jsonify({})


@app.get("/probe/count")
@access(Access.OPEN)
def count() -> Response:
    """How often this was asked."""
    counted.append(None)
    return jsonify(count=len(counted))


counted: list[None] = []


@app.get("/probe/hold")
@access(Access.OPEN)
def hold() -> Response:
    """Hold the hub that long, as a busy loop does."""
    say("hold began")
    until = time.monotonic() + int(request.args["ms"]) / 1000
    while time.monotonic() < until:
        pass
    return jsonify({})


@app.post("/probe/body")
@access(Access.MCP)
def body() -> Response:
    """How long the body is."""
    return jsonify(length=len(read_body()))


@app.get("/probe/large")
@access(Access.OPEN)
def large() -> Response:
    """An answer of many mebibytes."""
    return Response(b"x" * 1_048_576 * int(request.args["mib"]))


@app.get("/probe/bug")
@access(Access.OPEN)
def bug() -> Response:
    """Raise what holds a secret."""
    raise ZeroDivisionError("the-secret-of-the-bug")


@app.get("/probe/stream-bug")
@access(Access.OPEN)
def stream_bug() -> Response:
    """Raise when half of the answer is sent."""

    def parts():
        yield b"half"
        raise ZeroDivisionError("the-secret-of-the-bug")

    return Response(parts())


@app.get("/probe/exit")
@access(Access.OPEN)
def leave() -> Response:
    """Raise what usually ends a process."""
    raise SystemExit(9)


@app.get("/probe/outgoing")
@access(Access.OPEN)
def outgoing() -> Response:
    """Ask an HTTPS server from inside the worker."""
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(request.args["url"], verify=request.args["ca"], timeout=5)
    return jsonify(status=answer.status_code, body=answer.json())


@app.get("/probe/end")
@access(Access.OPEN)
def end() -> Response:
    """Crash a child of the tree until the root supervisor gives up."""
    tree = app.extensions["mead"]._parts.tree
    gevent.spawn(crash, tree)
    return jsonify({})


def crash(tree: Tree) -> None:
    """End one of its children each time it is back."""
    while tree.alive:
        child = tree.child("turns")
        if child is not None:
            child._finish(Exit("crashed"))
        gevent.sleep(0.005)
