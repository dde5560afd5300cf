"""`flask mead`: the group that holds every command."""

import signal
import sys
from typing import Any, Final

import click
from flask.cli import ScriptInfo

from mead.actors.green import interrupt_quietly
from mead.cli.output import tell
from mead.errors import ConfigurationError, MeadError, TurnError

CONFIGURATION_EXIT: Final = 2
FAILURE_EXIT: Final = 1


class MeadGroup(click.Group):
    """Shows a MeadError as its message and an exit code, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.  A refused configuration ends with 2, any other MeadError with 1."""
        interrupt_quietly()
        signal.signal(signal.SIGTERM, _terminated)
        app = ctx.ensure_object(ScriptInfo).load_app()
        try:
            with app.app_context():
                return super().invoke(ctx)
        except ConfigurationError as error:
            for fault in error.faults:
                click.echo(fault, err=True)
            sys.exit(CONFIGURATION_EXIT)
        except MeadError as error:
            code = error.turn_code if isinstance(error, TurnError) else error.code
            tell(f"{code}: {error.message}", err=True)
            sys.exit(FAILURE_EXIT)
        except BrokenPipeError:
            raise  # click's own affair: `... | head` is no error
        except OSError as error:
            click.echo(f"the output could not be written: {error.strerror}", err=True)
            sys.exit(FAILURE_EXIT)


def _terminated(number: int, _: object) -> None:
    """End as after a Ctrl-C, so that what the command began is tidied up."""
    sys.exit(128 + number)


@click.group("mead", cls=MeadGroup)
def mead_group() -> None:
    """Talk to Mead, look after its conversations, and check its settings."""
