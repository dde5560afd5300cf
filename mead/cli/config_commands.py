"""`config` and `token`: what the settings are, whether they are right, and a token for them."""

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import orjson
from flask import current_app, has_app_context

from mead.cli.output import json_option, print_json
from mead.config import Settings, effective, load_settings
from mead.config.values import one_line
from mead.errors import ConfigurationError

REFUSED_EXIT: Final = 2
TOKEN_BYTES: Final = 32
"""256 random bits: 43 characters that any header and any URL can carry."""


@click.command("config")
@click.option(
    "--check",
    "checked",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Only say whether FILE, in place of mead.toml, is right.",
)
@json_option
def config_command(checked: Path | None, as_json: bool) -> None:
    """Show every setting with its value and where it came from; secrets are masked.

    Ends with 2 and one line on stderr for each fault when the settings are not usable.
    """
    try:
        settings = _settings(checked)
    except ConfigurationError as error:
        for fault in error.faults:
            click.echo(fault, err=True)
        sys.exit(REFUSED_EXIT)
    if as_json:
        print_json([row._asdict() for row in effective(settings)])
    elif checked is not None:
        click.echo(f"{checked}: no faults")
    else:
        _print_columns([(key, _cell(value), source) for key, value, source in effective(settings)])


@click.command("token")
def token_command() -> None:
    """Print a fresh token, for mcp_server.token or deck.token."""
    click.echo(secrets.token_urlsafe(TOKEN_BYTES))


def _settings(checked: Path | None) -> Settings:
    environ = dict(os.environ)
    if checked is not None:
        environ["MEAD_CONFIG"] = str(checked.absolute())
    directory = current_app.extensions["mead.directory"] if has_app_context() else Path.cwd()
    return load_settings(environ, directory)


def _cell(value: object) -> str:
    if isinstance(value, str):
        return one_line(value)
    return "-" if value is None else orjson.dumps(value).decode()


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())
