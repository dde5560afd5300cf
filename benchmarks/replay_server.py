"""A model that always says the same, in a process of its own: one thread, epoll.

It speaks the streaming wire of OpenAI's chat/completions.  stdin: nothing; its end is the end of
the process.  stdout: the port.  The path of a request says how: /now/v1/... sends the whole answer
in one piece, /5/v1/... one token every 5 ms, the first at once.  A request without `"stream": true`
gets the answer as one JSON object.
"""

import heapq
import json
import selectors
import socket
import sys
import time

TOKENS = 20
FIRST = "alpha"
"""The first token, which no prompt and no protocol contains."""
USAGE = {"prompt_tokens": 9, "completion_tokens": TOKENS, "total_tokens": TOKENS + 9}


def event(delta: dict, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return chunk({**COMMON, "object": "chat.completion.chunk", "choices": [choice]})


def chunk(data: dict) -> bytes:
    body = f"data: {json.dumps(data)}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(body), body)


COMMON = {"id": "chatcmpl-replay", "created": 1, "model": "replay"}
WORDS = [FIRST, *(f" word{number}" for number in range(1, TOKENS))]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
STEPS = [event({"content": word}) for word in WORDS]
LAST = (
    event({}, "stop")
    + chunk({**COMMON, "object": "chat.completion.chunk", "choices": [], "usage": USAGE})
    + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
)
STEPS[0] = HEAD + event({"role": "assistant", "content": ""}) + STEPS[0]
STEPS[-1] += LAST
WHOLE = b"".join(STEPS)


def plain() -> bytes:
    message = {"role": "assistant", "content": "".join(WORDS)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    data = {**COMMON, "object": "chat.completion", "choices": [choice], "usage": USAGE}
    body = json.dumps(data).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


PLAIN = plain()


class Replay:
    """The server."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        self.due: list[tuple[float, int, int, int, socket.socket]] = []
        """When, a count that breaks ties, which token, how far apart they are, and for whom."""
        self.received: dict[socket.socket, bytes] = {}
        self.count = 0

    def run(self) -> None:
        while True:
            wait = self.due[0][0] - time.monotonic() if self.due else None
            for key, _ in self.selector.select(wait if wait is None else max(0.0, wait)):
                if key.fileobj is sys.stdin:
                    return
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    self.read(key.fileobj)
            self.send_due()

    def accept(self) -> None:
        peer, _ = self.listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received[peer] = b""
        self.selector.register(peer, selectors.EVENT_READ)

    def read(self, peer: socket.socket) -> None:
        try:
            data = peer.recv(262_144)
        except OSError:
            data = b""
        if not data:
            self.drop(peer)
            return
        received = self.received[peer] + data
        head, found, body = received.partition(b"\r\n\r\n")
        if found and len(body) >= length_of(head):
            self.received[peer] = b""
            self.answer(peer, head, body)
        else:
            self.received[peer] = received

    def answer(self, peer: socket.socket, head: bytes, body: bytes) -> None:
        pace = head.split(b"/", 2)[1]
        if b'"stream":true' not in body and b'"stream": true' not in body:
            self.send(peer, PLAIN)
        elif pace == b"now":
            self.send(peer, WHOLE)
        else:
            self.send(peer, STEPS[0])
            self.plan(time.monotonic() + int(pace) / 1000, 1, peer, int(pace))

    def plan(self, at: float, number: int, peer: socket.socket, pace_ms: int) -> None:
        self.count += 1
        heapq.heappush(self.due, (at, self.count, number, pace_ms, peer))

    def send_due(self) -> None:
        now = time.monotonic()
        while self.due and self.due[0][0] <= now:
            at, _, number, pace_ms, peer = heapq.heappop(self.due)
            self.send(peer, STEPS[number])
            if number + 1 < TOKENS:
                self.plan(at + pace_ms / 1000, number + 1, peer, pace_ms)

    def send(self, peer: socket.socket, data: bytes) -> None:
        """An answer is smaller than a socket's buffer, so this does not block."""
        try:
            peer.sendall(data)
        except OSError:
            self.drop(peer)

    def drop(self, peer: socket.socket) -> None:
        if self.received.pop(peer, None) is not None:
            self.selector.unregister(peer)
            peer.close()


def length_of(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def main() -> None:
    replay = Replay()
    print(replay.listener.getsockname()[1], flush=True)
    replay.run()


if __name__ == "__main__":
    main()
