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

    Nothing is sent anywhere.  The thresholds and the words of router.classifier apply.
    """
    verdict = classify(
        text, turns=0, history_characters=0, settings=settings_here().router.classifier
    )
    if as_json:
        print_json({"route": verdict.route, "reason": verdict.reason})
    else:
        click.echo(f"{verdict.route}: {verdict.reason}")
