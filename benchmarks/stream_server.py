"""The other end of bench_stream, in a process of its own: sends prepared events.

stdin: nothing; its end is the end of the process.  stdout: the port.  The path of a request says
what to send: /messages/N or /chat/N (1000 events of that wire, N to a chunk), or /clock (1000
events, 2 ms apart, each text the monotonic time in nanoseconds at which it was sent).
"""

import json
import socket
import sys
import threading
import time

EVENTS = 1000
SIZES = (1, 20)
APART_S = 0.002
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def event(data: dict[str, object]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def text_event(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return event({"type": "content_block_delta", "index": 0, "delta": delta})


def opening() -> bytes:
    message = {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    block = {"type": "text", "text": ""}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    return event({"type": "message_start", "message": message}) + event(start)


def ending() -> bytes:
    delta = {"stop_reason": "end_turn"}
    return (
        event({"type": "content_block_stop", "index": 0})
        + event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": EVENTS}})
        + event({"type": "message_stop"})
    )


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


def chat_event(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**data, 'choices': [choice]})}\n\n".encode()


def in_chunks(size: int, opening: bytes, events: list[bytes], ending: bytes) -> list[bytes]:
    batches = [b"".join(events[at : at + size]) for at in range(0, EVENTS, size)]
    return [chunk(opening), *map(chunk, batches), chunk(ending)]


def prepared() -> dict[str, list[bytes]]:
    words = [f"word {number} " for number in range(EVENTS)]
    texts, chats = list(map(text_event, words)), list(map(chat_event, words))
    made = {f"/messages/{size}": in_chunks(size, opening(), texts, ending()) for size in SIZES}
    last = b"data: [DONE]\n\n"
    return made | {f"/chat/{size}": in_chunks(size, chat_event(""), chats, last) for size in SIZES}


def serve(peer: socket.socket) -> None:
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with peer, peer.makefile("rb") as stream:
        while line := stream.readline():
            path = line.split()[1].decode()
            length = 0
            while header := stream.readline().strip():
                if header.lower().startswith(b"content-length:"):
                    length = int(header.partition(b":")[2])
            stream.read(length)
            peer.sendall(HEAD)
            if path.startswith("/clock"):
                clock(peer)
            else:
                for part in PREPARED["/".join(path.split("/")[:3])]:
                    peer.sendall(part)
            peer.sendall(END)


def clock(peer: socket.socket) -> None:
    peer.sendall(chunk(opening()))
    for _ in range(EVENTS):
        time.sleep(APART_S)
        peer.sendall(chunk(text_event(str(time.monotonic_ns()))))
    peer.sendall(chunk(ending()))


PREPARED = prepared()


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    sys.stdin.read()


def accept(listener: socket.socket) -> None:
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=serve, args=(peer,), daemon=True).start()


if __name__ == "__main__":
    main()
