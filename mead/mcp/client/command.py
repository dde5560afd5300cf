"""What to run as a tool server, and with which environment."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mead.mcp.client.faults import ServerFault

INHERITED: Final = ("PATH", "HOME", "LOGNAME", "SHELL", "TERM", "USER", "LANG")
"""All that a server gets of Mead's environment.  Source: SPEC section 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, and how."""

    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    """All of it."""
    directory: Path | None

    def path(self) -> str:
        """The file to execute.  Raises ServerFault."""
        if "/" in self.command:
            return str(Path(self.directory or Path.cwd()) / self.command)
        found = shutil.which(self.command, path=self.environment.get("PATH", os.defpath))
        if found is None:
            raise ServerFault("cannot_start", f"there is no command {self.command!r}")
        return found


def environment(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server: a few names of our `own`, and what the configuration gives."""
    return {**{name: own[name] for name in INHERITED if name in own}, **given}
