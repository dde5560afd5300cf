"""What is installed is what is pinned, and every direct dependency has its reason in docs/."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FILES = ["requirements.txt", "requirements-dev.txt", "requirements-embedded.txt"]


def _read(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and line[0] not in "#-"]


def _direct(name: str) -> set[str]:
    """The requirements of a file above the heading "Brought along"."""
    text = (ROOT / name).read_text().partition("# Brought along")[0]
    lines = [line for line in text.splitlines() if line and line[0] not in "#-"]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def _pinned(*names: str) -> dict[str, str]:
    return {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for name in names
        for one in _read(name)
    }


def _brought_by(one: Requirement) -> list[Requirement]:
    """What the installed package asks for here, with the extras that were asked of it."""
    found = [Requirement(text) for text in requires(one.name) or []]
    wanted = [{"extra": extra} for extra in one.extras] or [{"extra": ""}]
    return [each for each in found if not each.marker or any(map(each.marker.evaluate, wanted))]


def _closure(names: list[str]) -> set[str]:
    waiting = [one for name in names for one in _read(name)]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        seen.add(canonicalize_name(one.name))
        waiting += [each for each in _brought_by(one) if canonicalize_name(each.name) not in seen]
    return seen


def _modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def _imported() -> set[str]:
    """The packages that the server's own modules import."""
    owners, skipped = packages_distributions(), {"mead", "blueprints", "_typeshed"}
    files = [*ROOT.glob("mead/**/*.py"), *ROOT.glob("blueprints/**/*.py"), *ROOT.glob("*.py")]
    tops = {module.partition(".")[0] for file in files for module in _modules(file)} - skipped
    return {canonicalize_name(owners[top][0]) for top in tops - sys.stdlib_module_names}


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_and_installed_as_pinned(name):
    assert all(str(one.specifier).startswith("==") for one in _read(name))
    assert {package: version(package) for package in _pinned(name)} == _pinned(name)


@pytest.mark.parametrize("names", [FILES[:1], FILES[:2]], ids=" and ".join)
def test_what_the_requirements_bring_along_is_pinned_too(names):
    assert _closure(names) == set(_pinned(*names))


def test_every_direct_dependency_has_its_reason_in_the_docs():
    text = (ROOT / "docs" / "dependencies.md").read_text()
    told = {canonicalize_name(name) for name in re.findall(r"^\| `([^`\[]+)[^`]*` \|", text, re.M)}
    assert told == {package for name in FILES for package in _direct(name)}


def test_what_the_server_imports_it_names_itself():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    library = {canonicalize_name(Requirement(line).name) for line in listed}
    assert _imported() == _direct("requirements.txt") == library
