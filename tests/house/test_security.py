"""Every attack in docs/security.md has a defence and a test, and each test that is named exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
HEAD = "| asset | attack | defence | test |"
NAMED = re.compile(r"`(tests/[\w/.]+)::([^`]+)`")
RULE = re.compile(r"\|(-+\|){4}")


def rows(page: str) -> Iterator[list[str]]:
    """The cells of each attack."""
    inside = False
    for line in page.splitlines():
        inside = line == HEAD or (inside and line.startswith("|"))
        if inside and line != HEAD and not RULE.fullmatch(line):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = list(rows(PAGE))


def exists(path: str, name: str) -> bool:
    """Whether the file holds that test: a function, or in a script of the page its title."""
    file = ROOT / path
    text = file.read_text() if file.is_file() else ""
    return f"def {name}(" in text if path.endswith(".py") else f"{name}" in text


@pytest.mark.parametrize("cells", ROWS, ids=lambda cells: cells[1][:60])
def test_an_attack_has_an_asset_a_defence_and_a_test_that_exists(cells):
    assert len(cells) == 4
    assert all(cells)
    named = NAMED.findall(cells[3])
    assert named, "no test is named"
    assert NAMED.sub("", cells[3]).strip(" ,") == "", "the cell holds tests alone"
    assert [f"{path}::{name}" for path, name in named if not exists(path, name)] == []


def test_no_attack_stands_twice():
    attacks = [cells[1] for cells in ROWS]
    assert len(attacks) > 100
    assert len(set(attacks)) == len(attacks)


def test_every_table_of_attacks_is_read():
    assert PAGE.count(HEAD) == len(re.findall(r"^### ", PAGE, re.MULTILINE))


def test_a_test_that_is_not_there_is_found():
    assert not exists("tests/house/test_security.py", "test_that_nobody_wrote")
    assert not exists("tests/house/test_nothing.py", "test_that_nobody_wrote")
    assert not exists("tests/page/browser/safety.test.mjs", "what nobody wrote")
    (cells,) = rows(f"{HEAD}\n|--|--|--|--|\n| a | b | c | `tests/x.py::test_y` |\n")
    assert cells == ["a", "b", "c", "`tests/x.py::test_y`"]


def test_the_page_says_what_is_not_defended_and_where_to_tell_of_a_fault():
    assert "## What is not defended" in PAGE
    assert "## A fault that you found" in PAGE
    assert len(re.findall(r"^\d+\. ", PAGE.partition("## The attacks")[0], re.MULTILINE)) == 10
