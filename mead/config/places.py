"""Where a value may be fetched from: `env:NAME`, `file:PATH`, and what relative paths start at."""

import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mead.config.values import Refused, one_line, quoted

FILE_MAXIMUM_BYTES: Final = 65_536
"""A secret is far shorter; more means that the path is wrong."""

_ENVIRONMENT: Final = "env:"
_FILE: Final = "file:"


@dataclass(frozen=True, slots=True)
class Places:
    """The surroundings of one reading of the settings."""

    environ: Mapping[str, str]
    directory: Path


_places: Final[ContextVar[Places]] = ContextVar("mead_config_places")


@contextmanager
def reading_from(places: Places) -> Generator[None]:
    """Let the fields fetch from `places` while the block runs."""
    token = _places.set(places)
    try:
        yield
    finally:
        _places.reset(token)


def is_reference(value: object) -> bool:
    """Whether the value says where a secret lies."""
    return isinstance(value, str) and value.startswith((_ENVIRONMENT, _FILE))


def fetched(text: str) -> str:
    """The text that a reference leads to; any other text is itself.

    Raises Refused when there is nothing there.  Blocks on: disk (a small file, at boot).
    """
    if text.startswith(_ENVIRONMENT):
        return _from_environment(text.removeprefix(_ENVIRONMENT))
    if text.startswith(_FILE):
        return _from_file(text.removeprefix(_FILE))
    return text


def absolute(text: str) -> Path:
    """The path, seen from the directory of the settings.  Raises ValueError for no path at all."""
    if not text.strip() or "\0" in text:
        raise ValueError
    try:
        return _places.get().directory / Path(text).expanduser()
    except RuntimeError as error:  # `~` without a home
        raise ValueError from error


def _from_environment(name: str) -> str:
    value = _places.get().environ.get(name)
    if value is None:
        raise Refused(f"a reference to the variable {quoted(name)}, which is not set")
    if not value.strip():
        raise Refused(f"a reference to the variable {quoted(name)}, which is empty")
    return value.strip()


def _from_file(name: str) -> str:
    try:
        text = read_regular(absolute(name), FILE_MAXIMUM_BYTES).decode("utf-8-sig").strip()
    except OSError as error:
        raise Refused(f"a reference to the file {quoted(name)}: {reason(error)}") from None
    except ValueError:
        raise Refused(f"a reference to the file {quoted(name)}, which is no UTF-8 text") from None
    if not text:
        raise Refused(f"a reference to the file {quoted(name)}, which is empty")
    return text


def read_regular(path: Path, maximum_bytes: int) -> bytes:
    """The bytes of a regular file; never waits for a pipe or a device.  Raises OSError."""
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "not a regular file")
        data = file.read(maximum_bytes + 1)
    if len(data) > maximum_bytes:
        raise OSError(0, f"larger than {maximum_bytes} bytes")
    return data


def reason(error: OSError) -> str:
    """Why a file could not be read, without its name."""
    return one_line((error.strerror or type(error).__name__).lower())


def _open_at_once(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)
