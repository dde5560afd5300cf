"""Calls through a hub (the server is `fake` unless named), and a server that is a function."""

from contextlib import contextmanager

from gevent.server import StreamServer


def call(hub, tool, arguments=None, server="fake"):
    return hub.call_tool(f"{server}__{tool}", arguments or {}, None)


def says(hub, words="hello"):
    return call(hub, "echo", {"text": words}).text == words


@contextmanager
def listening(handle):
    """A server of our own; gives the port."""
    server = StreamServer(("127.0.0.1", 0), handle)
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop(timeout=0)
