"""`flask mead mcp ...`: both sides of MCP."""

import click

from mead.cli.mcp_commands import call_command, import_command, list_command
from mead.cli.mcp_config_command import mcp_config_command


@click.group("mcp")
def mcp() -> None:
    """The tool servers that Mead uses, and Mead as a server for others."""


for _command in (list_command, call_command, import_command, mcp_config_command):
    mcp.add_command(_command)
