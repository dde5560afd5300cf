"""What `make run` does before it starts the server: a first mead.toml, and what to try next.

python -m mead.cli.setup
"""

import os
import secrets
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from mead.cli import links
from mead.config import Settings, load_settings
from mead.control.client import ControlClient
from mead.errors import ConfigurationError, MeadError
from mead.storage import lock

CONFIGURATION_EXIT: Final = 2
PORT_EXIT: Final = 1

FILE_NAME: Final = "mead.toml"

HEAD: Final = """\
# Written by `make run`; yours to change.  docs/configuration.md has every key.
"""

STORAGE: Final = """
[storage]
directory = "var"
"""

DECK: Final = """
# Who has the token in that file may use the page at /deck/; `flask mead deck link` signs a browser
# in without it.
[deck]
token = "file:var/deck-token"
"""

TOKEN_FILE: Final = Path("var", "deck-token")
TOKEN_BYTES: Final = 32

EMBEDDED: Final = """
# A small model that runs in a process of Mead's own: no key, no server, nothing leaves the machine.
[router.slots.local]
provider = "embedded"
max_tokens = 512

# It answers at the speed of this machine's processor.
[runtime]
turn_timeout_ms = 120000
"""

ANTHROPIC: Final = """
# ANTHROPIC_API_KEY is read from the environment, and never written here.
[router.slots.cloud]
provider = "anthropic"
model = "claude-sonnet-5-5"
"""

OLLAMA: Final = """
# OLLAMA_HOST is read from the environment.  `ollama pull llama3.2:3b` gets the model.
[router.slots.local]
provider = "ollama"
model = "llama3.2:3b"
keep_alive = "30m"
receive_timeout_ms = 60000

# The first turn waits while Ollama loads the model.
[runtime]
turn_timeout_ms = 120000
"""


def first_file(environ: Mapping[str, str]) -> str:
    """The text of a first mead.toml: the slots that the environment implies, else the embedded."""
    slots = ""
    if environ.get("ANTHROPIC_API_KEY"):
        slots += ANTHROPIC
    if environ.get("OLLAMA_HOST"):
        slots += OLLAMA
    return HEAD + (slots or EMBEDDED) + STORAGE + DECK


def prepare(directory: Path, environ: Mapping[str, str]) -> None:
    """Write mead.toml (0600) if there is none; give one that we wrote what it lacks.

    Also the deck's token, if that is kept where we keep it.  Raises OSError.
    """
    path = directory / FILE_NAME
    if not path.exists():
        _write_private(path, first_file(environ))
        click.echo(f"wrote {FILE_NAME}")
    elif path.read_text().startswith(HEAD):
        _complete(path)
    if TOKEN_FILE.as_posix() in path.read_text():
        _keep_token(directory / TOKEN_FILE)


def _complete(path: Path) -> None:
    """Add the sections that an earlier version did not write."""
    for name, section, what in (
        ("storage", STORAGE, "conversations are now kept under var/"),
        ("deck", DECK, "the page at /deck/ is now served"),
    ):
        if f"[{name}]" not in path.read_text():
            with path.open("a") as file:
                file.write(section)
            click.echo(f"{FILE_NAME}: {what}")


def _keep_token(path: Path) -> None:
    """A token of its own for this installation, made once."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write_private(path, secrets.token_urlsafe(TOKEN_BYTES) + "\n")


def _write_private(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)


def hints(settings: Settings) -> str:
    """What to try once the server runs."""
    slots = ", ".join(
        f"{slot}: {chosen.options.model} ({chosen.provider})"
        for slot, chosen in settings.router.slots.items()
    )
    return f"""
Mead will listen on {links.configured(settings).url} (health at /healthz)
models: {slots or "none, turns are echoed"}

{_way_in(settings)}

In another shell, try
  .venv/bin/flask mead ask "Say hello"
  .venv/bin/flask mead chat
  .venv/bin/flask mead doctor
Ctrl-C stops it.
"""


def _way_in(settings: Settings) -> str:
    """The link to the page, with a code that the server will know; else how to get one."""
    if settings.deck.token is None:
        return "The page at /deck/ is off: set deck.token to turn it on."
    url = links.configured(settings).url
    try:
        address = links.link(url, links.new_code(settings))
    except MeadError:
        return f"The page: {url}/deck/ (it asks for deck.token)"
    return (
        "Once it says that Mead is ready, open this link; it works once, within ten minutes\n"
        f"  {address}\n"
        "A new one: .venv/bin/flask mead deck link"
    )


def port_in_use(settings: Settings) -> str | None:
    """What to do if something listens where the server would; None if nothing does."""
    address, port = settings.mcp_server.address, settings.mcp_server.port
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return (
                f"{address} port {port}: {error.strerror}; set mcp_server.port in {FILE_NAME}, or"
                " try MEAD_MCP_SERVER__PORT=4141 make run"
            )
    return None


def storage_in_use(settings: Settings) -> str | None:
    """What to do if a process that stays has the storage directory; None if none does.

    One that leaves is no hindrance: the server waits for it.  Blocks on: that process, bounded.
    """
    directory = settings.storage.directory
    client = None if directory is None else ControlClient.find(directory)
    if directory is None or client is None:
        return None
    try:
        is_leaving = client.status()["leaving"]
        return None if is_leaving else str(lock.locked(directory, lock.holder(directory)))
    except MeadError:  # it has left meanwhile
        return None


def main() -> None:
    """Prepare this directory, or end with a line that says why no server can be started in it."""
    here = Path.cwd()
    if "MEAD_CONFIG" not in os.environ:
        prepare(here, os.environ)
    try:
        settings = load_settings(os.environ, here)
    except ConfigurationError as error:
        for fault in error.faults:
            click.echo(fault, err=True)
        sys.exit(CONFIGURATION_EXIT)
    for find, status in ((storage_in_use, os.EX_TEMPFAIL), (port_in_use, PORT_EXIT)):
        if (trouble := find(settings)) is not None:
            click.echo(trouble, err=True)
            sys.exit(status)
    click.echo(hints(settings))


if __name__ == "__main__":
    main()
