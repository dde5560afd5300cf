"""`flask mead mcp list|call|import`: the tool servers that Mead is a client of.

Each command connects by itself and leaves again; a Mead that runs meanwhile is not disturbed.
"""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

import click
import orjson

from mead.actors.green import sleep_ms
from mead.cli.mcp_import import imported, render
from mead.cli.output import harmless, harmless_line, json_option, print_json, print_table
from mead.cli.runtime import settings_here
from mead.config import ServerSettings
from mead.errors import InvalidInput
from mead.mcp.client.hub import Hub, ServerStatus

_FAILED_EXIT: Final = 1
_POLL_MS: Final = 20
_NAME_SEPARATOR: Final = "__"
_SHOWN_NAMES: Final = 20


@contextmanager
def connected_to(servers: Sequence[ServerSettings]) -> Generator[Hub]:
    """A hub whose servers have answered or failed.  Blocks on: the slowest server's handshake."""
    hub = Hub(servers)
    hub.start()
    try:
        while not all(status.settled for status in hub.status()):
            sleep_ms(_POLL_MS)
        yield hub
    finally:
        hub.stop()


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Connect to every tool server and show what it offers.

    Ends with 1 if a server cannot be used.
    """
    with connected_to(settings_here().mcp.servers) as hub:
        found = hub.status()
    if as_json:
        print_json([_shape(status) for status in found])
    else:
        _print_servers(found)
    if not all(_well(status) for status in found):
        sys.exit(_FAILED_EXIT)


@click.command("call")
@click.argument("name", metavar="SERVER__TOOL")
@click.option("--arguments", default="{}", metavar="JSON", help="The tool's arguments, an object.")
@json_option
def call_command(name: str, arguments: str, as_json: bool) -> None:
    """Call one tool that the settings list, of either class, and print its result.

    Ends with 1 if the tool reports an error.
    """
    given = _arguments(arguments)
    with connected_to([_server_of(name, settings_here().mcp.servers)]) as hub:
        outcome = hub.call_tool(name, given, "effect")
    if as_json:
        print_json(asdict(outcome))
    else:
        click.echo(harmless(outcome.text), err=outcome.is_error)
    if outcome.is_error:
        sys.exit(_FAILED_EXIT)


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--values",
    is_flag=True,
    help="Print environment and headers as they are; without it, references to variables.",
)
def import_command(file: Path, values: bool) -> None:
    """Print settings for the servers in FILE, a JSON file of another MCP client.

    Every tool that a server offers is listed, commented out: granting each is up to you.  To ask
    for them each server is started or called: import no file whose commands you would not run.
    """
    try:
        servers = imported(file.read_bytes())
    except ValueError as error:
        raise InvalidInput(f"{file}: {error}") from None
    with connected_to([one.settings for one in servers]) as hub:
        found = {status.name: status for status in hub.status()}
    for server in servers:
        click.echo(render(server, found[server.settings.name], values=values))


def _server_of(name: str, servers: Sequence[ServerSettings]) -> ServerSettings:
    """The server whose granted tool that is.  Raises InvalidInput, which names those there are."""
    granted = {f"{one.name}{_NAME_SEPARATOR}{tool}": one for one in servers for tool in one.tools}
    if name in granted:
        return granted[name]
    if not granted:
        raise InvalidInput("mcp.servers grants no tool: see docs/tools.md")
    shown = ", ".join([*granted][:_SHOWN_NAMES])
    more = ", ..." if len(granted) > _SHOWN_NAMES else ""
    raise InvalidInput(f"mcp.servers grants no tool of that name; it grants {shown}{more}")


def _arguments(text: str) -> dict[str, Any]:
    try:
        given: object = orjson.loads(text)
    except ValueError:
        raise InvalidInput("--arguments is not JSON") from None
    if not isinstance(given, dict):
        raise InvalidInput("--arguments must be a JSON object")
    return cast("dict[str, Any]", given)


def _well(status: ServerStatus) -> bool:
    return status.state == "ready" and not status.missing


def _said(status: ServerStatus) -> str | None:
    return harmless_line(status.server) if status.server else None


def _shape(status: ServerStatus) -> dict[str, Any]:
    return {
        "name": status.name,
        "transport": status.transport,
        "state": status.state,
        "fault": status.fault,
        "revision": status.revision,
        "server": status.server,
        "tools": [{"name": tool.name, "class": tool.kind} for tool in status.granted],
        "missing": list(status.missing),
        "not_granted": [name for name, _ in status.not_granted],
    }


def _print_servers(found: Sequence[ServerStatus]) -> None:
    if not found:
        click.echo("No server is configured: see mcp.servers in docs/configuration.md.")
        return
    print_table(
        ("server", "transport", "state", "revision", "says it is"),
        [(one.name, one.transport, one.state, one.revision, _said(one)) for one in found],
    )
    for status in found:
        click.echo()
        if status.fault is not None and status.state != "ready":
            click.echo(f"{status.name}: {harmless_line(status.fault)}")
        for tool in status.granted:
            click.echo(f"{tool.name}  {tool.kind}")
        for name in status.missing:
            click.echo(f"{status.name}__{name}  is granted but not offered")
        if status.not_granted:
            names = ", ".join(harmless_line(name) for name, _ in status.not_granted)
            click.echo(f"{status.name} offers without being granted: {names}")
