"""A python-socketio server with one room: `python socketio_app.py PORT asgi|gevent`.

Run by bench_socketio in the peer's environment.  GET /emit?events=N&size=S&pause_ms=P emits that
many texts of that many characters to everyone, so far apart, and answers when they have been given
to the server; GET /ready answers at once.
"""

import sys
from urllib.parse import parse_qs

ROOM = "everyone"
FOREVER_S = 3600
"""Between pings: their cost is left out."""


def asked(query: str) -> tuple[int, str, float]:
    """How many, what, and seconds between two."""
    values = {name: int(number[0]) for name, number in parse_qs(query).items()}
    return values["events"], "x" * values["size"], values["pause_ms"] / 1000


def asgi(port: int) -> None:
    import asyncio

    import socketio
    import uvicorn

    server = socketio.AsyncServer(async_mode="asgi", ping_interval=FOREVER_S)

    @server.event
    async def connect(sid: str, environ: dict) -> None:
        await server.enter_room(sid, ROOM)

    async def other(scope, receive, send) -> None:
        if scope["path"] == "/emit":
            events, text, pause_s = asked(scope["query_string"].decode())
            for _ in range(events):
                await server.emit("event", text, room=ROOM)
                await asyncio.sleep(pause_s)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = socketio.ASGIApp(server, other)
    # Its own pings are left out, too: the clients answer none.
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        log_level="critical",
        access_log=False,
        ws_ping_interval=None,
        ws_ping_timeout=None,
    )


def gevent(port: int) -> None:
    from gevent import monkey

    monkey.patch_all()

    import socketio
    from gevent import pywsgi, sleep
    from geventwebsocket.handler import WebSocketHandler

    server = socketio.Server(async_mode="gevent", ping_interval=FOREVER_S)

    @server.event
    def connect(sid: str, environ: dict) -> None:
        server.enter_room(sid, ROOM)

    def other(environ, start_response) -> list[bytes]:
        if environ["PATH_INFO"] == "/emit":
            events, text, pause_s = asked(environ["QUERY_STRING"])
            for _ in range(events):
                server.emit("event", text, room=ROOM)
                sleep(pause_s)
        start_response("200 OK", [("Content-Length", "0")])
        return []

    app = socketio.WSGIApp(server, other)
    listener = ("127.0.0.1", port)
    pywsgi.WSGIServer(listener, app, handler_class=WebSocketHandler, log=None).serve_forever()


if __name__ == "__main__":
    {"asgi": asgi, "gevent": gevent}[sys.argv[2]](int(sys.argv[1]))
