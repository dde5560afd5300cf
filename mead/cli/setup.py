"""What `make run` does before it starts the server: a first mead.toml, and what to try next.

python -m mead.cli.setup
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from mead.config import Settings, load_settings
from mead.errors import ConfigurationError

CONFIGURATION_EXIT: Final = 2

FILE_NAME: Final = "mead.toml"

HEAD: Final = """\
# Written by `make run`; yours to change.  docs/configuration.md has every key.
"""

STORAGE: Final = """
[storage]
directory = "var"
"""

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
    return HEAD + (slots or EMBEDDED) + STORAGE


def prepare(directory: Path, environ: Mapping[str, str]) -> None:
    """Write mead.toml (0600) if there is none; give one that we wrote its storage section.

    Raises OSError.
    """
    path = directory / FILE_NAME
    if not path.exists():
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(first_file(environ))
        click.echo(f"wrote {FILE_NAME}")
        return
    text = path.read_text()
    if text.startswith(HEAD) and "[storage]" not in text:
        with path.open("a") as file:
            file.write(STORAGE)
        click.echo(f"{FILE_NAME}: conversations are now kept under var/")


def hints(settings: Settings) -> str:
    """What to try once the server runs."""
    server = settings.mcp_server
    scheme = "http" if server.certfile is None else "https"
    slots = ", ".join(
        f"{slot}: {chosen.options.model} ({chosen.provider})"
        for slot, chosen in settings.router.slots.items()
    )
    return f"""
Mead listens on {scheme}://{server.address}:{server.port} (health at /healthz)
models: {slots or "none, turns are echoed"}

In another shell, try
  .venv/bin/flask mead ask "Say hello"
  .venv/bin/flask mead chat
  .venv/bin/flask mead doctor
Ctrl-C stops it.
"""


def main() -> None:
    """Prepare this directory; end with 2 when its settings are not usable."""
    here = Path.cwd()
    if "MEAD_CONFIG" not in os.environ:
        prepare(here, os.environ)
    try:
        settings = load_settings(os.environ, here)
    except ConfigurationError as error:
        for fault in error.faults:
            click.echo(fault, err=True)
        sys.exit(CONFIGURATION_EXIT)
    click.echo(hints(settings))


if __name__ == "__main__":
    main()
