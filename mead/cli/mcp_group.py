"""`flask mead mcp ...`: both sides of MCP."""

import click

from mead.cli.mcp_config_command import mcp_config_command


@click.group("mcp")
def mcp() -> None:
    """The tool servers that Mead uses, and Mead as a server for others."""


mcp.add_command(mcp_config_command)
