"""A real gunicorn in a child process, for tests: started, read, asked, stopped, killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import gevent
import psutil
import requests

from tests.helpers.waiting import eventually
from tests.helpers.with_us import WITH_US

ROOT: Final = Path(__file__).parents[2]
MCP_TOKEN: Final = "mcp-token-for-tests-0123456789abcdef"
DECK_TOKEN: Final = "deck-token-for-tests-0123456789abcde"
READY: Final = "Mead is ready"
BOOT_S: Final = 15


class Server:
    """One gunicorn with a mead.toml of its own."""

    def __init__(
        self, directory: Path, toml: str = "", *, app: str = "wsgi:app", scheme: str = "http"
    ) -> None:
        self.directory = directory
        self.app = app
        self.port = free_port()
        """Where it listens, unless the test says otherwise."""
        self.host = "127.0.0.1"
        """Where the test finds it."""
        self.scheme = scheme
        self.lines: list[str] = []
        self.process: subprocess.Popen[bytes]
        self._reader: gevent.Greenlet
        self.configure(toml)

    def configure(self, toml: str) -> None:
        """Write mead.toml: these lines, and the port unless they name one."""
        if "[mcp_server]" not in toml:
            toml += "\n[mcp_server]\n"
        if "\nport =" not in toml:
            toml = toml.replace("[mcp_server]\n", f"[mcp_server]\nport = {self.port}\n")
        (self.directory / "mead.toml").write_text(toml)

    def start(self, *arguments: str, **environ: str) -> "Server":
        """Start it; does not wait for anything."""
        self.process = subprocess.Popen(
            [*WITH_US, sys.executable, "-m", "gunicorn", *arguments, self.app],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.directory),
                "MEAD_CONFIG": str(self.directory / "mead.toml"),
                **environ,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = gevent.spawn(self._read)
        return self

    def ready(self, times: int = 1) -> "Server":
        """Wait until a worker takes requests (for the `times`th time)."""
        self.expect(READY, times, bound_s=BOOT_S)
        return self

    def expect(self, text: str, times: int = 1, bound_s: float = 5) -> str:
        """Wait for the log line that holds `text` (for the `times`th one)."""
        with suppress(AssertionError):
            eventually(lambda: self._found(text, times) or self._reader.dead, bound_s)
        if (found := self._found(text, times)) is None:
            raise AssertionError(f"no {text!r} in:\n" + "\n".join(self.lines))
        return found

    def says(self, text: str) -> bool:
        """Whether a line of the log so far holds `text`."""
        return self._found(text, 1) is not None

    @property
    def log(self) -> str:
        """Everything it has printed so far."""
        return "\n".join(self.lines)

    # -- asking ------------------------------------------------------------------------------------

    def url(self, path: str) -> str:
        """The address of a path."""
        return f"{self.scheme}://{self.host}:{self.port}{path}"

    def get(self, path: str, **options: object) -> requests.Response:
        """One GET on a connection of its own."""
        return self.request("GET", path, **options)

    def request(self, method: str, path: str, **options: object) -> requests.Response:
        """One request on a connection of its own."""
        with requests.Session() as session:
            session.trust_env = False
            options.setdefault("timeout", 10)
            return session.request(method, self.url(path), **options)

    def connect(self) -> socket.socket:
        """A bare connection; reading from it is bounded."""
        connection = socket.create_connection((self.host, self.port), timeout=10)
        connection.settimeout(10)
        return connection

    # -- ending ------------------------------------------------------------------------------------

    def workers(self) -> list[int]:
        """The process ids of its workers."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the master."""
        self.process.send_signal(number)

    def end(self, bound_s: float = 10) -> int:
        """Wait for its end; the exit status."""
        status = self.process.wait(bound_s)
        self._reader.join(5)
        return status

    def stop(self, bound_s: float = 10) -> int:
        """Ask it to leave, and wait; the exit status."""
        self.signal(signal.SIGTERM)
        return self.end(bound_s)

    def destroy(self) -> None:
        """Whatever state it is in: nothing of it stays."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)
        self._reader.join(5)
        self.process.stdout.close()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip("\n"))

    def _found(self, text: str, times: int) -> str | None:
        found = [line for line in self.lines if text in line]
        return found[times - 1] if len(found) >= times else None


@contextmanager
def running(server: Server, *arguments: str, **environ: str) -> Iterator[Server]:
    """The server, started and ready, and gone afterwards."""
    try:
        server.start(*arguments, **environ)
        yield server.ready()
    finally:
        server.destroy()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tokens_toml() -> str:
    """Both faces on."""
    return f'[mcp_server]\ntoken = "{MCP_TOKEN}"\n[deck]\ntoken = "{DECK_TOKEN}"\n'


def receive_all(connection: socket.socket) -> bytes:
    """Everything until the server closes; a reset counts as an end."""
    received = b""
    try:
        while data := connection.recv(65_536):
            received += data
    except ConnectionResetError:
        pass
    return received


def receive_answer(connection: socket.socket) -> bytes:
    """One HTTP answer with a Content-Length; b"" when the server closed instead."""
    received = b""
    while b"\r\n\r\n" not in received:
        data = connection.recv(65_536)
        if not data:
            return received
        received += data
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body
