"""The servers that Mead is measured against, each in a virtual environment of its own.

    peer = options().peer("litellm")      # installs it into build/peers/litellm, the first time
    if peer is None: return               # a line has said why: "skipped: ..."

A benchmark whose peer cannot be had is no failure: it says so in one line and ends with status 0.
Pins: benchmarks/peers/<name>.txt; the official SDK (`mcp`) comes with the peers of the tests.
"""

import argparse
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers import NotStarted
from tests import peers

HERE = Path(__file__).parent
SHARED = {"mcp": ("venv", peers.HERE / "requirements.txt")}
"""Peers that the tests have too: their environment and its list."""


@dataclass(frozen=True)
class Peer:
    """A peer that is installed."""

    name: str
    python: Path

    def script(self, name: str) -> str:
        """A command of its environment."""
        return str(self.python.parent / name)

    def versions(self, *packages: str) -> str:
        """`litellm 1.2.3, uvicorn 4.5.6`, as pinned."""
        pins = dict(line.split("==") for line in pins_of(self.name) if "==" in line)
        return ", ".join(f"{package} {pins[package]}" for package in packages)


@dataclass(frozen=True)
class Options:
    """Where the peers are, and whether one that is missing may be installed."""

    place: Path = peers.PLACE
    install: bool = True

    def peer(self, name: str) -> Peer | None:
        """None, and one line, if it cannot be had.  Blocks on: the package registry, at first."""
        environment, pins = environment_of(name)
        if not self.install and not peers.is_installed(environment, pins, self.place):
            skipped(f"{name} is not installed, and --no-install forbids it")
            return None
        try:
            return Peer(name, peers.environment(environment, pins, self.place))
        except subprocess.CalledProcessError as error:
            skipped(f"{name} could not be installed (pip: exit status {error.returncode})")
            return None


def options() -> Options:
    """From the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", type=Path, default=peers.PLACE, help="where they are installed")
    parser.add_argument("--no-install", action="store_true", help="use what is installed already")
    given = parser.parse_args()
    return Options(given.peers, not given.no_install)


@contextmanager
def skipping(name: str) -> Iterator[None]:
    """What is measured inside is left out, with a line, if the peer does not start."""
    try:
        yield
    except NotStarted as error:
        skipped(f"{name} did not start: {error}")


def skipped(why: str) -> None:
    print(f"skipped: {why}", flush=True)


def environment_of(name: str) -> tuple[str, Path]:
    """A peer's environment in build/peers, and the list of what is in it."""
    return SHARED.get(name, (name, HERE / f"{name}.txt"))


def pins_of(name: str) -> list[str]:
    """The lines of its list."""
    return environment_of(name)[1].read_text().splitlines()
