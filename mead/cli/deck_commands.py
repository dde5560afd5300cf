"""`flask mead deck ...`: who may come to the deck."""

import click

from mead.cli import links
from mead.cli.runtime import settings_here


@click.group("deck")
def deck() -> None:
    """Let browsers into the deck, or out of it."""


@deck.command("link")
@click.option("--url", help="How the server is reached, if not at the address it listens on.")
def link_command(url: str | None) -> None:
    """Print a link that signs one browser in.

    It works once, within ten minutes, also for a server that is started in the meantime.  The
    browser is then signed in in that one tab, until the tab is closed.  Without --url it names the
    address at which the running server listens, or, if none runs, the settings' own.
    """
    settings = settings_here()
    code = links.new_code(settings)
    click.echo(links.link(url or links.base_url(settings), code))


@deck.command("revoke")
def revoke_command() -> None:
    """Sign every browser out, and make links that were not used yet worthless.

    `deck.token` itself stays good.
    """
    count = links.revoke(settings_here())
    click.echo(f"{count} {'browser is' if count == 1 else 'browsers are'} signed out")
