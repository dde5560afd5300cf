"""`flask mead`: the group that holds every command."""

import sys
from typing import Any, Final

import click
from flask.cli import ScriptInfo

from mead.actors.green import interrupt_quietly
from mead.errors import ConfigurationError, MeadError

CONFIGURATION_EXIT: Final = 2
FAILURE_EXIT: Final = 1


class MeadGroup(click.Group):
    """Shows a MeadError as its message and an exit code, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.  A refused configuration ends with 2, any other MeadError with 1."""
        interrupt_quietly()
        app = ctx.ensure_object(ScriptInfo).load_app()
        try:
            with app.app_context():
                return super().invoke(ctx)
        except ConfigurationError as error:
            for fault in error.faults:
                click.echo(fault, err=True)
            sys.exit(CONFIGURATION_EXIT)
        except MeadError as error:
            click.echo(f"{error.code}: {error.message}", err=True)
            sys.exit(FAILURE_EXIT)


@click.group("mead", cls=MeadGroup)
def mead_group() -> None:
    """Talk to Mead, look after its conversations, and check its settings."""
