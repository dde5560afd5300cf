"""The fenced blocks of README.md and docs/, and how the text of each is brought into a test."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE: Final = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

MADE: Final = "docs/cli.md"
"""Made from the commands themselves, which tests/house/test_docs.py compares."""


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    language: str
    text: str
    line: int

    @property
    def head(self) -> str:
        """Its first line, by which the tables of the tests name it."""
        return self.text.partition("\n")[0].strip()

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(path: Path) -> list[Block]:
    """Those of one page."""
    text, page = path.read_text(), path.relative_to(ROOT).as_posix()
    return [
        Block(page, found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


BLOCKS: Final = tuple(
    block
    for page in PAGES
    if page.relative_to(ROOT).as_posix() != MADE
    for block in blocks_of(page)
)


def written_in(language: str, page: str | None = None) -> list[Block]:
    """The blocks in that language, of one page or of all."""
    return [
        block
        for block in BLOCKS
        if block.language == language and (page is None or block.page == page)
    ]


def replaced(text: str, values: Mapping[str, str]) -> str:
    """The text with the docs' places and names replaced by those of the test.

    Raises AssertionError when one of them is not there: then the docs changed.
    """
    for old, new in values.items():
        assert old in text, f"{old!r} is not in:\n{text}"
        text = text.replace(old, new)
    return text
