"""`flask mead route TEXT`: where the classifier would send a turn, and why."""

import click

from mead.cli.output import json_option, print_json
from mead.cli.runtime import settings_here
from mead.router.classifier import classify


@click.command("route")
@click.argument("text")
@json_option
def route(text: str, as_json: bool) -> None:
    """Show where a turn with this TEXT would go in a fresh conversation, and why.

    Nothing is sent anywhere.  A runtime.default_route other than auto decides for every turn that
    asks for no route; the classifier's word is shown all the same.
    """
    settings = settings_here()
    verdict = classify(text, turns=0, history_characters=0, settings=settings.router.classifier)
    chosen: str = settings.runtime.default_route
    if chosen == "auto":
        chosen, reason = verdict.route, verdict.reason
    else:
        reason = f"runtime.default_route (the classifier says {verdict.route}: {verdict.reason})"
    if as_json:
        print_json({"route": chosen, "reason": reason, "classified": verdict.route})
    else:
        click.echo(f"{chosen}: {reason}")
