"""How commands print data."""

from collections.abc import Iterable, Sequence
from typing import Final

import click
import orjson

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
del _CONTROLS[ord("\n")], _CONTROLS[ord("\t")]


def harmless(text: str) -> str:
    """Text of a model or a stored turn with its control characters made visible.

    An escape sequence could otherwise rewrite what the terminal shows, or its title or clipboard.
    """
    return text.translate(_CONTROLS)


def harmless_line(text: str) -> str:
    """`harmless`, and on one line: for a name, which could otherwise pretend to be more output."""
    return harmless(text).replace("\n", "\\x0a").replace("\t", "\\x09")


def print_json(value: object) -> None:
    """Print it as indented JSON."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns as wide as their widest cell; numbers to the right."""
    cells = [[("-" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    for line in (head, *cells):
        click.echo(
            "  ".join(
                cell.rjust(width) if cell.isdecimal() else cell.ljust(width)
                for cell, width in zip(line, widths, strict=True)
            ).rstrip()
        )
