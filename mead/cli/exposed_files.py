"""Files with secrets that other accounts of the machine can read."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mead.config import MASK, Settings, effective

_FILE: Final = "file:"
_NO_FILE: Final = ("environment ", "override", "code", "default")
"""How a source begins that is no file."""
_OTHERS: Final = 0o044


def exposed_files(settings: Settings, directory: Path) -> list[Path]:
    """Those that group or others may read, of what the settings were read from.

    Relative paths start at `directory`.  Blocks on: disk.
    """
    found = {directory / Path(name).expanduser() for name in _named(settings)}
    return sorted(path for path in found if _is_exposed(path))


def _named(settings: Settings) -> Iterator[str]:
    for setting in effective(settings):
        if setting.value != MASK:
            continue
        source, _, reference = setting.source.partition(", ")
        if reference.startswith(_FILE):
            yield reference.removeprefix(_FILE)
        elif not reference and not source.startswith(_NO_FILE):
            yield source  # the TOML file itself holds the secret


def _is_exposed(path: Path) -> bool:
    """Not where nobody here could change it: a container's secrets are mounted to be read."""
    try:
        found = path.stat()
        is_fixed = found.st_uid != os.geteuid() or os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError:
        return False
    return bool(found.st_mode & _OTHERS) and not is_fixed
