"""The embedded model's child process, seen from its parent.

`subprocess` is gevent's here, since Mead runs in a patched process: it reaps the child, and its
pipes wait without holding the hub.  It forks, which is slower than posix_spawn in a large process
(STACK.md 6: 16 ms at 10 MB, 43 ms at 300 MB), but a model is started once and after a crash, and
posix_spawn would want pipes and reaping of our own.
"""

import json
import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, cast

from mead.actors.green import Timeout, time_limit

log = logging.getLogger(__name__)

START_TIMEOUT_MS: Final = 60_000
"""A model of some gigabytes from a cold disk."""
STOP_TIMEOUT_MS: Final = 2000
_LINE_BYTES: Final = 65536

_SCRIPT: Final = Path(__file__).parent / "embedded_child.py"
_PASSED_ON: Final = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONPATH",
)
"""What the child needs to start Python; everything else, keys above all, stays here."""

_FAILURES: Final = {
    "import_failed": "llama.cpp does not start on this machine",
    "load_failed": "the model file could not be loaded",
}


class StartFailed(Exception):
    """The child did not come up; the text is for the operator."""


class ModelProcess:
    """One start of the model's server."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Start it.  Raises OSError.  Blocks on: a fork."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=_environment(),
        )
        self._stdin = cast(IO[bytes], self._process.stdin)
        self._stdout = cast(IO[bytes], self._process.stdout)
        self._stderr = cast(IO[bytes], self._process.stderr)
        self._settings = json.dumps(settings).encode() + b"\n"

    @property
    def pid(self) -> int:
        """The operating system's number for it."""
        return self._process.pid

    def url(self) -> str:
        """Hand over the settings and wait until the model is loaded.

        Raises StartFailed.  Blocks on: the child, at most START_TIMEOUT_MS.
        """
        limit = time_limit(START_TIMEOUT_MS)
        try:
            line = self._converse()
        except Timeout as timeout:
            if timeout is not limit:
                raise
            raise StartFailed("the embedded model did not load in time") from None
        finally:
            limit.close()
        if not line:
            raise StartFailed("the embedded model's server ended while it started")
        answer = json.loads(line)
        if "address" not in answer:
            raise StartFailed(_FAILURES[answer["error"]])
        return answer["address"]

    def wait(self) -> None:
        """Return when the process has ended and is reaped."""
        self._process.wait()

    def drain(self) -> None:
        """Read stderr until its end, and keep nothing of it: it may hold prompts."""
        lines = 0
        while self._stderr.readline(_LINE_BYTES):
            lines += 1
        log.debug("the embedded model's server wrote %d lines to stderr", lines)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def stop(self) -> None:
        """End it by the end of its stdin, else by force, and reap it.  Blocks on: the child."""
        self._stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_MS / 1000)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT_MS / 1000)
        self._stdout.close()
        self._stderr.close()

    def _converse(self) -> bytes:
        try:
            self._stdin.write(self._settings)
            self._stdin.flush()
        except BrokenPipeError:
            return b""
        return self._stdout.readline(_LINE_BYTES)


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # Threads that wait by spinning take the cores from the ones that work: 33 tokens/s become 3.
    return {**passed, "OMP_WAIT_POLICY": "passive"}
