"""`mcp config`: ready-made configuration that makes this server known to an MCP client."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
import orjson

from mead.cli import links
from mead.cli.output import json_option, print_json
from mead.cli.runtime import settings_here
from mead.config import McpServerSettings

TOKEN_VARIABLE: Final = "MEAD_MCP_TOKEN"  # noqa: S105 - a name
"""Where clients read the token: it is kept here as a digest alone, so nobody can print it."""


def _remote(url: str, token: str, **more: str) -> dict[str, Any]:
    return {**more, "url": url, "headers": {"Authorization": f"Bearer {token}"}}


def claude_code(url: str) -> dict[str, Any]:
    """`.mcp.json` of a project."""
    return {"mcpServers": {"mead": _remote(url, f"${{{TOKEN_VARIABLE}}}", type="http")}}


def vscode(url: str) -> dict[str, Any]:
    """`.vscode/mcp.json`; the editor asks for the token once and keeps it."""
    ask = {
        "id": "mead-token",
        "type": "promptString",
        "description": "Token of the Mead server",
        "password": True,
    }
    return {"inputs": [ask], "servers": {"mead": _remote(url, "${input:mead-token}", type="http")}}


def cursor(url: str) -> dict[str, Any]:
    """`.cursor/mcp.json` of a project, or `~/.cursor/mcp.json`."""
    return {"mcpServers": {"mead": _remote(url, f"${{env:{TOKEN_VARIABLE}}}")}}


def claude_command(url: str) -> str:
    """The command that adds the server to Claude Code."""
    return f'claude mcp add --transport http mead {url} --header "{_header()}"'


def inspector_command(url: str) -> str:
    """The command that lists the tools with the Inspector."""
    return (
        f"npx @modelcontextprotocol/inspector --cli {url} --transport http"
        f' --header "{_header()}" --method tools/list'
    )


def _header() -> str:
    return f"Authorization: Bearer ${TOKEN_VARIABLE}"


Files = Mapping[str, tuple[str, str, Callable[[str], dict[str, Any]]]]
Commands = Mapping[str, tuple[str, Callable[[str], str]]]

FILES: Final[Files] = {
    "claude-code": ("Claude Code", ".mcp.json", claude_code),
    "vscode": ("VS Code", ".vscode/mcp.json", vscode),
    "cursor": ("Cursor", ".cursor/mcp.json", cursor),
}
COMMANDS: Final[Commands] = {
    "claude-code": ("Claude Code", claude_command),
    "inspector": ("Inspector, with Node 22.19 or later", inspector_command),
}
CLIENTS: Final = ("claude-code", "vscode", "cursor", "inspector")


@click.command("config")
@click.argument("client", type=click.Choice(CLIENTS), required=False)
@click.option(
    "--url",
    help="Where the clients reach this server; default: where it listens, or, if it does not run,"
    " where the settings say.",
)
@json_option
def mcp_config_command(client: str | None, url: str | None, as_json: bool) -> None:
    """Print what makes this server known to an MCP client, for one CLIENT or for all.

    The token is not in it: the clients read it from the variable MEAD_MCP_TOKEN, or ask for it.
    """
    settings = settings_here()
    server = settings.mcp_server
    address = url or f"{links.base_url(settings)}/mcp"
    wanted = CLIENTS if client is None else (client,)
    if as_json:
        print_json({name: _described(name, address) for name in wanted})
        return
    for name in wanted:
        _print_client(name, address)
    for line in _notes(server, address):
        click.echo(f"# {line}")


def _described(name: str, url: str) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    if name in COMMANDS:
        shape["command"] = COMMANDS[name][1](url)
    if name in FILES:
        shape["file"] = FILES[name][1]
        shape["content"] = FILES[name][2](url)
    return shape


def _print_client(name: str, url: str) -> None:
    if name in COMMANDS:
        title, command = COMMANDS[name]
        click.echo(f"# {title}\n{command(url)}\n")
    if name in FILES:
        title, path, content = FILES[name]
        text = orjson.dumps(content(url), option=orjson.OPT_INDENT_2).decode()
        click.echo(f"# {title}: {path}\n{text}\n")


def _notes(server: McpServerSettings, url: str) -> list[str]:
    """What is still to be done before a client gets in."""
    notes = [f"The clients need the token: export {TOKEN_VARIABLE}=..."]
    if server.token is None:
        notes[:0] = [
            "This server has no mcp_server.token, so it does not serve /mcp: make one with",
            "`flask mead token`, put it into mead.toml, and start the server again.",
        ]
    if url.startswith("https:") and server.certfile is not None:
        certificate = Path(server.certfile).name
        notes.append(
            f"If {certificate} is self-signed, clients written in JavaScript need"
            f" NODE_EXTRA_CA_CERTS=/path/to/{certificate}, others SSL_CERT_FILE."
        )
    return notes
