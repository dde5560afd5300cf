"""The `mcpServers` JSON of other MCP clients as a part of mead.toml.

Read without judgement and written with care: values of environment and headers may be secrets, so
they come out as references (`env:NAME`) unless asked for, and every tool as a comment.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import orjson

from mead.config import Secret, ServerSettings
from mead.mcp.client.hub import ServerStatus

_ROOTS: Final = ("mcpServers", "servers")
"""What most clients call the table, and what VS Code calls it."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_USABLE_TOOL: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REFERENCE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME_CHARACTERS: Final = 32
_SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class Imported:
    """One server of the file."""

    settings: ServerSettings
    original: str
    """Its name there."""


def imported(data: bytes) -> list[Imported]:
    """The servers in the file.  Raises ValueError with a sentence about what is wrong."""
    try:
        tree: object = orjson.loads(data)
    except ValueError:
        raise ValueError("it is not JSON") from None
    taken: set[str] = set()
    for root in _ROOTS:
        table = _object(_object(tree).get(root))
        if table:
            return [_server(name, _object(entry), taken) for name, entry in table.items()]
    raise ValueError('there is no server under "mcpServers"')


def _server(original: str, entry: Mapping[str, Any], taken: set[str]) -> Imported:
    name = _free_name(original, taken)
    url, command, directory = entry.get("url"), entry.get("command"), entry.get("cwd")
    if isinstance(url, str):
        settings = ServerSettings(
            name=name, transport="http", url=url, headers=_secrets(entry.get("headers"))
        )
    elif isinstance(command, str):
        settings = ServerSettings(
            name=name,
            transport="stdio",
            command=command,
            arguments=_texts(entry.get("args")),
            environment=_secrets(entry.get("env")),
            directory=Path(directory) if isinstance(directory, str) and directory else None,
        )
    else:
        raise ValueError(f"the server {original!r} has neither a command nor a url")
    return Imported(settings, original)


def _free_name(original: str, taken: set[str]) -> str:
    """The nearest name that Mead allows and that is not taken."""
    base = re.sub(r"[^a-z0-9]+", "-", original.lower())[:_NAME_CHARACTERS].strip("-") or "server"
    name, number = base, 2
    while name in taken:
        suffix = f"-{number}"
        name, number = base[: _NAME_CHARACTERS - len(suffix)] + suffix, number + 1
    taken.add(name)
    return name


def _secrets(table: object) -> dict[str, Secret]:
    return {key: Secret(str(value)) for key, value in _object(table).items()}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# -- TOML ------------------------------------------------------------------------------------------


def render(server: Imported, found: ServerStatus, *, values: bool) -> str:
    """The server's table, with what it offers commented out."""
    settings = server.settings
    lines = ["[[mcp.servers]]", f"name = {text(settings.name)}"]
    if settings.name != server.original:
        lines[0] += f"  # {_one_line(server.original)} there"
    lines.append(f"transport = {text(settings.transport)}")
    if settings.command is not None:
        lines.append(f"command = {text(settings.command)}")
        lines.append(f"arguments = [{', '.join(map(text, settings.arguments))}]")
        if settings.directory is not None:
            lines.append(f"directory = {text(str(settings.directory))}")
        lines += _table("environment", settings.environment, settings.name, values)
    if settings.url is not None:
        lines.append(f"url = {text(settings.url)}")
        lines += _table("headers", settings.headers, settings.name, values)
    return "\n".join([*lines, "", "[mcp.servers.tools]", *_tools(found), ""])


def _tools(found: ServerStatus) -> list[str]:
    if found.state != "ready":
        return [f"# The server could not be asked for its tools: {found.fault}"]
    lines = ['# What it offers. Grant a tool by taking its # away; "read" if it changes nothing.']
    for name, description in found.not_granted:
        unusable = _USABLE_TOOL.fullmatch(f"{found.name}__{name}") is None
        note = "no model can be shown this name" if unusable else _one_line(description)
        lines.append(f'# {key(name)} = "effect"  # {note}'.rstrip(" #"))
    return lines


def _table(name: str, entries: Mapping[str, Secret], server: str, values: bool) -> list[str]:
    if not entries:
        return []
    written = (
        f"{key(entry)} = {text(_value(entry, secret, server, values))}"
        for entry, secret in entries.items()
    )
    return [f"{name} = {{ {', '.join(written)} }}"]


def _value(entry: str, secret: Secret, server: str, values: bool) -> str:
    """The value, or the variable of Mead's own environment that is to hold it."""
    reference = _REFERENCE.fullmatch(secret.reveal())
    if reference is not None:
        return f"env:{reference[1]}"
    if values:
        return secret.reveal()
    variable = re.sub(r"[^A-Za-z0-9]+", "_", f"{server}_{entry}").upper()
    return f"env:{variable}"


def key(name: str) -> str:
    """A TOML key."""
    return name if _BARE_KEY.fullmatch(name) else text(name)


def text(value: str) -> str:
    """A TOML basic string; JSON's escapes are a part of TOML's."""
    return orjson.dumps(value).decode().replace("\x7f", "\\u007f")


def _one_line(value: str) -> str:
    words = " ".join("".join(char if char.isprintable() else " " for char in value).split())
    return words if len(words) <= _SHOWN_CHARACTERS else words[: _SHOWN_CHARACTERS - 1] + "…"
