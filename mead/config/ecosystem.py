"""The names that other programs gave the environment: PORT, ANTHROPIC_API_KEY, OLLAMA_HOST, ...

They fill what no other source set, and they fill no slot.  A key goes to its provider's own address
or to the one that the same environment names, never to an address that a file names: else whoever
may write the file could have the key sent to himself.  Source: SPEC section 2.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mead.config.settings import DEFAULT_BASE_URLS
from mead.config.sources import DEFAULT, Tree, environment_value

EVERY_INTERFACE: Final = "0.0.0.0"  # noqa: S104 - what a platform that sets PORT expects


class Names(NamedTuple):
    """The variables of one provider."""

    base_url: str
    api_key: str | None


PROVIDER_NAMES: Final[Mapping[str, Names]] = {
    "anthropic": Names("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai": Names("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "ollama": Names("OLLAMA_HOST", None),
}


def fill(tree: Tree, environ: Mapping[str, str]) -> None:
    """Let the ecosystem's names speak where nobody else did; an empty one counts as absent."""
    _fill_port(tree, environ)
    for slot in ("local", "cloud"):
        names = PROVIDER_NAMES.get(str(tree.at("router", "slots", slot, "provider")))
        if names is not None:
            _fill_slot(tree, environ, slot, names)


def complete(tree: Tree) -> None:
    """Set the two defaults that depend on which slots are filled."""
    if not isinstance(tree.at("runtime") or {}, dict):
        return
    filled = {slot for slot in ("local", "cloud") if tree.has("router", "slots", slot)}
    if filled and not tree.has("runtime", "turn_handler"):
        tree.put(("runtime", "turn_handler"), "router", DEFAULT)
    if filled == {"local"} and not tree.has("runtime", "default_route"):
        tree.put(("runtime", "default_route"), "local", DEFAULT)


def _fill_port(tree: Tree, environ: Mapping[str, str]) -> None:
    port = environ.get("PORT", "").strip()
    if not port or tree.has("mcp_server", "port"):
        return
    tree.put(("mcp_server", "port"), environment_value(port), "PORT")
    if not tree.has("mcp_server", "address"):
        tree.put(("mcp_server", "address"), EVERY_INTERFACE, "PORT")


def _fill_slot(tree: Tree, environ: Mapping[str, str], slot: str, names: Names) -> None:
    path = ("router", "slots", slot)
    provider = str(tree.at(*path, "provider"))
    own_address = tree.at(*path, "base_url")
    address = environ.get(names.base_url, "").strip()
    if own_address is None and address:
        tree.put((*path, "base_url"), address, names.base_url)
    key = "" if names.api_key is None else environ.get(names.api_key, "").strip()
    trusted = own_address is None or _is_default(provider, own_address)
    if key and trusted and not tree.has(*path, "api_key"):
        tree.put((*path, "api_key"), key, str(names.api_key))


def _is_default(provider: str, address: object) -> bool:
    return isinstance(address, str) and address.rstrip("/") == DEFAULT_BASE_URLS[provider]
