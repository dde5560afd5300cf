"""Everything that a soak runs against: the server, tool servers, a model behind a wire."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, ROOT, Server, running

PERMISSION_MS = 1500
HEARTBEAT_MS = 1000
IDLE_MS = 4000
TICKET_MS = 3000


class Outside:
    """`benchmarks.soak.outside` in a child process that can end and come back on its port."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it; returns when it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.soak.outside", str(self.port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.port = int(self._process.stdout.readline())

    def stop(self) -> None:
        """End it, with everything that it was about to say."""
        self._process.kill()
        self._process.wait(10)
        self._process.stdin.close()
        self._process.stdout.close()


class Stage:
    """What the players need to know."""

    def __init__(self, server: Server, frail: Outside, directory: Path) -> None:
        self.server = server
        self.frail = frail
        self.directory = directory
        self.store = directory / "store"

    def worker(self) -> int:
        """The process id of the worker."""
        (worker,) = self.server.workers()
        return worker


@contextmanager
def standing(directory: Path, handlers: dict[str, str]) -> Iterator[Stage]:
    """All of it, up and ready; `handlers` go into `runtime.handlers` beside the census."""
    with ExitStack() as held:
        steady, frail = Outside(), Outside()
        for each in (steady, frail):
            held.callback(each.stop)
        server = Server(directory, toml(directory, steady.port, frail.port, handlers))
        held.enter_context(running(server))
        yield Stage(server, frail, directory)


def toml(directory: Path, steady: int, frail: int, handlers: dict[str, str]) -> str:
    """The settings: storage on, both slots, four tool servers, short waits for people."""
    named = {"census": "benchmarks.soak.census:Census", **handlers}
    lines = "\n".join(f'{name} = "{path}"' for name, path in named.items())
    return f"""
[runtime]
default_route = "local"

[runtime.handlers]
{lines}

[storage]
directory = "{directory}/store"
compact_after_bytes = 65536

[router.slots.local]
provider = "benchmarks.soak.model:SoakModel"

[router.slots.cloud]
provider = "openai"
model = "soak"
api_key = "a-key-of-the-soak"
base_url = "http://127.0.0.1:{steady}/v1"

[mcp_server]
token = "{MCP_TOKEN}"
allow_effect = true

[deck]
token = "{DECK_TOKEN}"
permission_timeout_ms = {PERMISSION_MS}
heartbeat_ms = {HEARTBEAT_MS}
idle_timeout_ms = {IDLE_MS}
ticket_ttl_ms = {TICKET_MS}
event_log_limit = 300
{_stdio("near", {"add": "read", "write": "effect"})}
{_stdio("mortal", {"add": "read", "die": "read"})}
{_http("far", steady)}
{_http("frail", frail)}
"""


def _stdio(name: str, tools: dict[str, Any]) -> str:
    granted = ", ".join(f'{tool} = "{kind}"' for tool, kind in tools.items())
    return f"""
[[mcp.servers]]
name = "{name}"
transport = "stdio"
command = "{sys.executable}"
arguments = ["-m", "benchmarks.soak.tools"]
directory = "{ROOT}"
tools = {{ {granted} }}
"""


def _http(name: str, port: int) -> str:
    return f"""
[[mcp.servers]]
name = "{name}"
transport = "http"
url = "http://127.0.0.1:{port}/mcp"
tools = {{ add = "read" }}
"""
