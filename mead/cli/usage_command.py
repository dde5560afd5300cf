"""`flask mead usage`."""

import time
from typing import Any, Final

import click

from mead.cli.output import json_option, print_json, print_table
from mead.cli.runtime import connected

_WATCH_S: Final = 2.0


@click.command()
@click.option("--recent", type=click.IntRange(0, 100), default=20, help="How many latest turns.")
@click.option("--watch", is_flag=True, help="Print again every two seconds, until Ctrl-C.")
@json_option
def usage(recent: int, watch: bool, as_json: bool) -> None:
    """Show what the models were sent and what came back."""
    with connected() as runtime:
        while True:
            found = runtime.usage(recent=recent)
            if watch and not as_json:
                click.clear()
            (print_json if as_json else _print)(found)
            if not watch:
                return
            try:
                time.sleep(_WATCH_S)
            except KeyboardInterrupt:
                return


_HEAD: Final = ("turns", "failed", "in", "out", "cache read", "cache write", "tools", "seconds")


def _numbers(row: dict[str, Any]) -> tuple[object, ...]:
    return (
        row["turns"],
        row["failed"],
        row["input_tokens"],
        row["output_tokens"],
        row["cache_read_tokens"],
        row["cache_write_tokens"],
        row["tool_calls"],
        f"{row['duration_ms'] / 1000:.1f}",
    )


def _print(found: dict[str, Any]) -> None:
    totals = found["totals"]
    rows = [
        (row["route"], row["provider"], row["model"], *_numbers(row)) for row in found["routes"]
    ]
    print_table(
        ("route", "provider", "model", *_HEAD), [*rows, ("all", None, None, *_numbers(totals))]
    )
    if totals["dropped"]:
        click.echo(f"{totals['dropped']} events could not be read and are not counted")
    if found["days"]:
        click.echo()
        print_table(("day", *_HEAD), [(row["day"], *_numbers(row)) for row in found["days"][-7:]])
    if found["recent"]:
        click.echo()
        print_table(
            ("at", "route", "model", "status", "in", "out", "ms"),
            [
                (
                    row["at"],
                    row["route"],
                    row["model"],
                    row["status"],
                    row["input_tokens"],
                    row["output_tokens"],
                    round(row["duration_ms"]),
                )
                for row in found["recent"]
            ],
        )
