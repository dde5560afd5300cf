"""A server's standard error as log lines: cut, few at a time, without its secrets."""

import logging
import time
from collections.abc import Sequence
from typing import Final

from mead.config import MASK

log = logging.getLogger(__name__)

LINE_CHARACTERS: Final = 300
LINES_A_WINDOW: Final = 20
WINDOW_S: Final = 10.0
_KEPT_BYTES: Final = 16384
"""Far more than is shown, so that a secret is seen whole before the line is cut."""
_SECRET_CHARACTERS: Final = 6
"""A shorter line of a value is an ordinary word (`true`, `8080`), not a secret to hide."""


class StderrLog:
    """Feed it what was read."""

    def __init__(self, name: str, secrets: Sequence[str]) -> None:
        self._name = name
        lines = {line.strip() for one in secrets for line in one.splitlines()}
        whole = (line for line in lines if len(line) >= _SECRET_CHARACTERS)
        self._secrets = sorted(whole, key=len, reverse=True)
        """Each line of each secret; the longest first, which may hold a shorter one."""
        self._line = b""
        self._window_ends = 0.0
        self._shown = 0
        self._left_out = 0

    def feed(self, data: bytes) -> None:
        """Log the lines that end in `data`."""
        *whole, open_ = data.split(b"\n")
        for piece in whole:
            self._log((self._line + piece)[:_KEPT_BYTES])
            self._line = b""
        self._line = (self._line + open_)[:_KEPT_BYTES]

    def _log(self, line: bytes) -> None:
        now = time.monotonic()
        if now >= self._window_ends:
            if self._left_out:
                log.info("%s stderr: %d more lines", self._name, self._left_out)
            self._window_ends, self._shown, self._left_out = now + WINDOW_S, 0, 0
        if self._shown >= LINES_A_WINDOW:
            self._left_out += 1
            return
        text = self._safe(line)
        if text:
            self._shown += 1
            log.info("%s stderr: %s", self._name, text)

    def _safe(self, line: bytes) -> str:
        text = line.decode("utf-8", "replace")
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        printable = "".join(char if char.isprintable() else " " for char in text)
        return printable.strip()[:LINE_CHARACTERS]
