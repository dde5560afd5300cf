"""What is not Mead, in a process of its own: an MCP server over HTTP, and a model behind a wire.

`python -m benchmarks.soak.outside PORT`: PORT 0 takes any; prints the port.  The end of stdin is
its end.  `/mcp` has the tools of `benchmarks.soak.tools`.  `/v1/chat/completions` streams what is
said to `say COUNT [PAUSE_MS]`, refuses a `flaky COUNT 0 ID` the first time, and breaks off in
`cut COUNT`.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.soak import tools
from benchmarks.soak.words import words


REFUSED: set[str] = set()


class Outside(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/mcp":
            self._answer(tools.answer_to(body))
        else:
            self._talk(body["messages"][-1]["content"])

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""

    def _answer(self, answer: dict[str, Any] | None) -> None:
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(202 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _talk(self, prompt: str) -> None:
        verb, count, *pause = prompt.split()
        if verb == "flaky" and prompt not in REFUSED:
            REFUSED.add(prompt)
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        REFUSED.discard(prompt)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in words(int(count)):
            time.sleep(int(pause[0]) / 1000 if pause else 0)
            self._event({"choices": [{"index": 0, "delta": {"content": word}}]})
        if verb == "cut":
            self.close_connection = True
            return
        self._end()

    def _event(self, data: dict[str, Any]) -> None:
        shape = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **data}
        self._chunk(f"data: {json.dumps(shape)}\n\n".encode())

    def _end(self) -> None:
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class Server(ThreadingHTTPServer):
    """A client that goes away is nothing to speak of."""

    request_queue_size = 1024

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address


def main() -> None:
    server = Server(("127.0.0.1", int(sys.argv[1])), Outside)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
