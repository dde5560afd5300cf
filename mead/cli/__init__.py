"""The commands of `flask mead ...`: a file per group, thin over `Mead` or the control socket."""

from mead.cli.config_commands import config_command, token_command
from mead.cli.deck_commands import deck
from mead.cli.doctor_command import doctor
from mead.cli.group import mead_group
from mead.cli.mcp_group import mcp
from mead.cli.route_command import route
from mead.cli.session_commands import sessions
from mead.cli.talk_commands import ask, chat
from mead.cli.usage_command import usage

for _command in (
    ask,
    chat,
    sessions,
    usage,
    route,
    mcp,
    deck,
    config_command,
    token_command,
    doctor,
):
    mead_group.add_command(_command)

__all__ = ["mead_group"]
