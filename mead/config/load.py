"""From the sources to the settings tree; every fault is found before the first one is told."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from marshmallow import ValidationError

from mead.config import ecosystem
from mead.config.effective import ADDRESS_KEYS, leaves
from mead.config.faults import fault_lines, shown_path
from mead.config.places import Places, is_reference, reading_from
from mead.config.schema import Root, known_keys
from mead.config.secrets import Secret, TokenDigest
from mead.config.settings import Settings
from mead.config.sources import PREFIX, SEPARATOR, Tree, add_environment, add_file
from mead.config.values import one_line
from mead.errors import ConfigurationError

OVERRIDE: Final = "override"
CODE: Final = "code"


def load_settings(
    environ: Mapping[str, str], directory: Path, overrides: Mapping[str, object] | None = None
) -> Settings:
    """The settings of a process whose mead.toml lies in `directory`.

    Sources, later wins: defaults, the TOML file, `MEAD_<SECTION>__<KEY>`, `overrides` (a mapping
    shaped like the file); the ecosystem's names fill what none of them set.

    Raises ConfigurationError with a line for every fault.  Blocks on: disk (small files, at boot).
    Source: SPEC section 2.
    """
    tree = Tree()
    add_file(tree, environ, directory)
    add_environment(tree, environ, _variables())
    if overrides is not None:
        tree.add(overrides, OVERRIDE)
    ecosystem.fill(tree, environ)
    return _settings(tree, Places(environ, directory))


def build_settings(values: object, *, directory: Path, environ: Mapping[str, str]) -> Settings:
    """The settings that a mapping shaped like the file describes; see `Settings.build`."""
    tree = Tree()
    tree.add(values, CODE)
    return _settings(tree, Places(environ, directory))


def _settings(tree: Tree, places: Places) -> Settings:
    ecosystem.complete(tree)
    settings, faults = _read(tree, places)
    if settings is None or tree.faults:
        # Raised here and not where marshmallow's error is caught: that one holds the values.
        raise ConfigurationError([*tree.faults, *faults])
    return _with_sources(settings, tree)


def _read(tree: Tree, places: Places) -> tuple[Settings | None, list[str]]:
    with reading_from(Places(places.environ, places.directory.absolute())):
        try:
            return cast(Settings, Root().read(tree.values)), []
        except ValidationError as error:
            return None, fault_lines(error.messages_dict, tree.source_of, known_keys())


def _with_sources(settings: Settings, tree: Tree) -> Settings:
    sources: dict[str, str] = {}
    masked: set[str] = set()
    for path, value in leaves(settings):
        said = tree.at(*path)
        source = tree.source_of(path)
        if said is None or source is None:
            continue
        key = shown_path(path)
        sources[key] = source
        fetched = isinstance(value, Secret | TokenDigest) or path[-1] in ADDRESS_KEYS
        if fetched and is_reference(said):
            sources[key] = f"{source}, {one_line(said)}"
            masked.add(key)
    return replace(settings, sources=MappingProxyType(sources), masked=frozenset(masked))


@cache
def _variables() -> tuple[str, ...]:
    """The names of the variables that set a key with a fixed name."""
    keys = [key.partition("[")[0] for known in known_keys() for key in _in_both_slots(known)]
    named = dict.fromkeys(key for key in keys if "<" not in key)
    return tuple(PREFIX + key.upper().replace(".", SEPARATOR) for key in named)


def _in_both_slots(key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key.replace("<slot>", slot) for slot in ("local", "cloud")))
