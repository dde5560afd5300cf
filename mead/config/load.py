"""From the sources to the settings tree (first version: nothing is checked yet)."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mead.config.secrets import Secret, TokenDigest
from mead.config.settings import (
    DEFAULT_BASE_URLS,
    EMBEDDED_MODEL,
    ClassifierSettings,
    DeckSettings,
    McpServerSettings,
    McpSettings,
    ProviderOptions,
    RouterSettings,
    RuntimeSettings,
    ServerSettings,
    Settings,
    SlotSettings,
    StorageSettings,
)


def load_settings(
    environ: Mapping[str, str], directory: Path, overrides: Mapping[str, object] | None = None
) -> Settings:
    """The settings of a process started in `directory`.  Raises ConfigurationError."""
    path = Path(environ.get("MEAD_CONFIG") or directory / "mead.toml")
    tree: dict[str, Any] = tomllib.loads(path.read_text()) if path.exists() else {}
    for name in sorted(environ):
        if name.startswith("MEAD_") and "__" in name:
            *parents, last = name[5:].lower().split("__")
            table = tree
            for parent in parents:
                table = table.setdefault(parent, {})
            table[last] = _value(environ[name])
    tree.update(overrides or {})
    if "PORT" in environ:
        listener = tree.setdefault("mcp_server", {})
        listener.setdefault("port", int(environ["PORT"]))
        listener.setdefault("address", "0.0.0.0")  # noqa: S104 - what a platform's PORT means
    return build_settings(tree, directory=directory, environ=environ)


def build_settings(
    values: Mapping[str, Any], *, directory: Path, environ: Mapping[str, str]
) -> Settings:
    """The tree that `values` describes."""
    slots = {
        name: _slot(dict(slot)) for name, slot in values.get("router", {}).get("slots", {}).items()
    }
    runtime: dict[str, Any] = {
        "turn_handler": "router" if slots else "echo",
        "default_route": "local" if set(slots) == {"local"} else "auto",
        **values.get("runtime", {}),
    }
    storage = dict(values.get("storage", {}))
    if storage.get("directory") is not None:
        storage["directory"] = directory / storage["directory"]
    listener = _with_token(values.get("mcp_server", {}))
    for key in ("allowed_origins", "allowed_hosts", "trusted_proxies"):
        listener[key] = tuple(listener.get(key, ()))
    return Settings(
        runtime=RuntimeSettings(**runtime),
        storage=StorageSettings(**storage),
        router=RouterSettings(
            slots=slots,  # type: ignore[arg-type]
            classifier=ClassifierSettings(**values.get("router", {}).get("classifier", {})),
        ),
        mcp=McpSettings(
            servers=tuple(_server(dict(one)) for one in values.get("mcp", {}).get("servers", []))
        ),
        mcp_server=McpServerSettings(**listener),
        deck=DeckSettings(**_with_token(values.get("deck", {}))),
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _with_token(table: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(table)
    if made.get("token") is not None:
        made["token"] = TokenDigest(made["token"])
    return made


def _slot(options: dict[str, Any]) -> SlotSettings:
    provider = options.pop("provider")
    if ":" in provider:
        model = str(options.get("model", ""))
        return SlotSettings(
            provider=provider, options=ProviderOptions(model=model, custom=dict(options))
        )
    if options.get("api_key") is not None:
        options["api_key"] = Secret(options["api_key"])
    options.setdefault("base_url", DEFAULT_BASE_URLS.get(provider))
    options.setdefault("model", EMBEDDED_MODEL if provider == "embedded" else "scripted")
    options["script"] = tuple(options.get("script", ()))
    return SlotSettings(provider=provider, options=ProviderOptions(**options))


def _server(table: dict[str, Any]) -> ServerSettings:
    table["arguments"] = tuple(table.get("arguments", ()))
    for key in ("environment", "headers"):
        table[key] = {name: Secret(text) for name, text in table.get(key, {}).items()}
    return ServerSettings(**table)
