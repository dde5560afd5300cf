"""The settings as an operator is shown them: every key, its value, where it came from."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard, cast

from mead.config.faults import KeyPath, shown_path
from mead.config.secrets import MASK, Secret, TokenDigest
from mead.config.servers import OWN_KEYS
from mead.config.settings import ServerSettings, Settings, SlotSettings
from mead.config.slots import PROVIDERS
from mead.config.sources import DEFAULT

_SOUNDS_SECRET: Final = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)
_USERINFO: Final = re.compile(r"(?<=//)[^/@]*@")
_QUERY: Final = re.compile(r"\?.*")

ADDRESS_KEYS: Final = frozenset({"url", "base_url", "proxy"})
"""Texts that are no secret as a whole and may hold one."""


class EffectiveSetting(NamedTuple):
    """One key."""

    key: str
    value: object
    """As JSON values; a secret as asterisks."""
    source: str


def effective(settings: Settings) -> list[EffectiveSetting]:
    """Every setting in the order of the tree, fit to be shown to anyone."""
    return [
        EffectiveSetting(
            key := shown_path(path),
            MASK if key in settings.masked else _shown(path, value),
            settings.sources.get(key, DEFAULT),
        )
        for path, value in leaves(settings)
    ]


def leaves(settings: Settings) -> Iterator[tuple[KeyPath, object]]:
    """Every key path of the tree with its value; an option that its provider lacks is left out."""
    for section in ("runtime", "storage", "router", "mcp", "mcp_server", "deck"):
        yield from _below((section,), getattr(settings, section))


def _below(path: KeyPath, value: object) -> Iterator[tuple[KeyPath, object]]:
    if isinstance(value, SlotSettings):
        yield from _slot(path, value)
    elif _is_servers(value):
        for index, server in enumerate(value):
            yield from _server((*path, index), server)
    elif isinstance(value, Mapping):
        yield from _table(path, cast(Mapping[str, object], value))
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _below((*path, field.name), getattr(value, field.name))
    else:
        yield path, cast(object, value)


def _table(path: KeyPath, table: Mapping[str, object]) -> Iterator[tuple[KeyPath, object]]:
    names = ("local", "cloud") if path == ("router", "slots") else tuple(table)
    if not names:
        yield path, {}
    for name in names:
        yield from _below((*path, name), table.get(name))


def _is_servers(value: object) -> TypeGuard[tuple[ServerSettings, ...]]:
    items = cast(tuple[object, ...], value) if isinstance(value, tuple) else ()
    return bool(items) and isinstance(items[0], ServerSettings)


def _slot(path: KeyPath, slot: SlotSettings) -> Iterator[tuple[KeyPath, object]]:
    yield (*path, "provider"), slot.provider
    schema = PROVIDERS.get(slot.provider)
    if schema is None:
        for name, value in slot.options.custom.items():
            yield (*path, name), Secret(MASK) if _SOUNDS_SECRET.search(name) else value
        yield (*path, "allow_remote"), slot.options.allow_remote
        return
    for name in schema.names():
        if name != "provider":
            yield from _below((*path, name), getattr(slot.options, name))


def _server(path: KeyPath, server: ServerSettings) -> Iterator[tuple[KeyPath, object]]:
    foreign = {
        key for transport, keys in OWN_KEYS.items() if transport != server.transport for key in keys
    }
    for field in fields(server):
        if field.name not in foreign:
            yield from _below((*path, field.name), getattr(server, field.name))


def _shown(path: KeyPath, value: object) -> object:
    if isinstance(value, Secret | TokenDigest):
        return MASK
    if isinstance(value, str):
        return _without_secrets(value) if path[-1] in ADDRESS_KEYS else value
    return _json(value)


def _json(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _json(one) for key, one in cast(Mapping[object, object], value).items()}
    if isinstance(value, tuple | list):
        return [_json(one) for one in cast(tuple[object, ...], value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"<{type(value).__name__}>"


def _without_secrets(address: str) -> str:
    return _QUERY.sub(f"?{MASK}", _USERINFO.sub(f"{MASK}@", address))
