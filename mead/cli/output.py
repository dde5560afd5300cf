"""How commands print data: nothing of it can steer the terminal, or look like what it is not."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click
import orjson

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_STEERING: Final = (
    *range(32),
    *range(127, 160),
    *(0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
)
"""Control characters, line separators, what turns the order of reading round, half characters."""

_ESCAPES: Final[Mapping[int, str]] = {
    code: _escape(code) for code in _STEERING if chr(code) not in "\n\t"
}
_JSON_ESCAPES: Final[Mapping[int, str]] = {
    code: f"\\u{code:04x}" for code in _STEERING if code >= 127
}
_INVISIBLE: Final = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
"""Categories of characters that a reader does not see."""
_JOINERS: Final = "\u200c\u200d"
"""Of emoji, and of scripts that need them."""


def harmless(text: str) -> str:
    """Text of a model or a stored turn with its control characters made visible.

    An escape sequence could otherwise rewrite what the terminal shows, or its title or clipboard,
    and a character that reverses the order of reading could make it say something else.
    """
    return text.translate(_ESCAPES)


def harmless_line(text: str) -> str:
    """`harmless`, on one line and without anything unseen.

    For a name, which could otherwise pretend to be more output, or another name.
    """
    return "".join(_visible(char) for char in text)


def harmless_lines(text: str) -> str:
    """`harmless_line` for each line: for what a person is asked to allow."""
    return "\n".join(harmless_line(line) for line in text.split("\n"))


def _visible(char: str) -> str:
    if char in _JOINERS or unicodedata.category(char) not in _INVISIBLE:
        return char
    return _escape(ord(char))


def tell(text: str, *, dim: bool = False, bold: bool = False, err: bool = False) -> None:
    """Print a line that names what others chose; it cannot steer the terminal."""
    click.secho(harmless(text), dim=dim, bold=bold, err=err)


def print_json(value: object) -> None:
    """Print it as indented JSON; what could steer a terminal is written as JSON's own escapes."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    click.echo(text.translate(_JSON_ESCAPES))


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns as wide as their widest cell; numbers to the right."""
    cells = [["-" if cell is None else harmless_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    for line in (head, *cells):
        click.echo(
            "  ".join(
                cell.rjust(width) if cell.isdecimal() else cell.ljust(width)
                for cell, width in zip(line, widths, strict=True)
            ).rstrip()
        )
