"""The layers are complete, and breaking one is really found."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _layered() -> set[str]:
    contracts = CONFIG["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "layers")
    flat = " ".join(layers).replace("|", " ").replace(":", " ")
    return {name.strip("()") for name in flat.split()}


def test_every_module_belongs_to_a_layer():
    layered = _layered()
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "mead").rglob("*.py")
        if path.name != "__init__.py"
    }
    strangers = {
        name
        for name in modules
        if not any(name == layer or name.startswith(f"{layer}.") for layer in layered)
    }
    assert not strangers, "name them in pyproject.toml, contract `layers`"


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("mead/ids.py", "import mead.turn", "layers"),
        ("mead/router/__init__.py", "import mead.providers", "layers"),
        ("mead/storage/__init__.py", "import mead.sessions", "layers"),
        ("mead/errors.py", "from mead import Mead", "defining-module"),
        ("mead/turn.py", "from flask import request", "flask"),
        ("blueprints/__init__.py", "import gunicorn.http", "gunicorn"),
        ("mead/signals.py", "from gevent.event import Event", "gevent"),
        ("mead/router/__init__.py", "import gevent", "gevent"),
    ],
)
def test_an_import_across_the_layers_is_found(tmp_path, module, statement, contract):
    for name in ("mead", "blueprints"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a") as file:
        file.write(f"\n{statement}\n")
    linter = Path(sys.executable).with_name("lint-imports")
    command = [linter, "--no-logo", "--no-cache", "--contract", contract]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "1 broken" in ran.stdout
