"""The docs name what there is; that what they show runs is shown in tests/docs."""

import re
from pathlib import Path

import pytest

from mead import Mead, errors, signals
from mead.cli.reference import reference
from mead.protocols import Interaction, TurnContext

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LIBRARY = (DOCS / "library.md").read_text()


def all_errors() -> list[type[errors.MeadError]]:
    found = [cls for cls in vars(errors).values() if isinstance(cls, type)]
    inner = (errors.MeadError, errors.TurnError)
    return [cls for cls in found if issubclass(cls, errors.MeadError) and cls not in inner]


def test_the_command_page_is_what_the_commands_say() -> None:
    assert (DOCS / "cli.md").read_text() == reference(), "run `make docs`"


@pytest.mark.parametrize("cls", all_errors(), ids=lambda cls: cls.__name__)
def test_every_error_is_in_the_docs_with_its_code(cls: type[errors.MeadError]) -> None:
    assert f"| `{cls.code}` | `{cls.__name__}` |" in LIBRARY


def test_every_public_call_is_in_the_docs() -> None:
    calls = {name for name in vars(Mead) if not name.startswith("_")}
    assert {name for name in calls if f"`{name}(" not in LIBRARY} == set()


@pytest.mark.parametrize("kind", [TurnContext, Interaction], ids=lambda kind: kind.__name__)
def test_what_a_handler_and_a_person_are_given_is_in_the_docs(kind: type) -> None:
    """In the first table after its name."""
    after = LIBRARY.partition(f"`mead.protocols.{kind.__name__}`")[2]
    table = after.partition("\n\n|")[2].partition("\n\n")[0]
    names = {name for name in vars(kind) if not name.startswith("_")} - set(dir(tuple))
    assert {name for name in names if not re.search(rf"`{name}[`(.]", table)} == set()


def test_every_signal_is_in_the_docs_with_its_fields() -> None:
    for name, value in vars(signals).items():
        if isinstance(value, signals.Signal):
            assert f"`mead.signals.{name}`" in LIBRARY


def test_every_link_in_the_docs_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [ROOT / "README.md", *DOCS.rglob("*.md")]
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []
