"""docs/providers.md says what there is."""

from dataclasses import fields
from pathlib import Path

import pytest

from mead.config.settings import ProviderOptions
from mead.providers.embedded_server import CONTEXT
from mead.providers.errors import SENTENCES
from mead.providers.locality import NOT_LOCAL
from mead.providers.ollama_cut import TRUNCATED
from mead.providers.ollama_wire import DEFAULT_NUM_CTX

TEXT = (Path(__file__).parents[2] / "docs" / "providers.md").read_text()


@pytest.mark.parametrize("reason", [*SENTENCES, NOT_LOCAL])
def test_every_reason_has_its_row(reason):
    assert f"\n| `{reason}` | " in TEXT


@pytest.mark.parametrize(
    "option", [each.name for each in fields(ProviderOptions) if each.name not in ("custom",)]
)
def test_every_option_is_named(option):
    assert f"`{option}`" in TEXT or f"\n{option} = " in TEXT


@pytest.mark.parametrize("name", ["embedded", "ollama", "openai", "anthropic", "scripted"])
def test_every_provider_has_its_chapter(name):
    assert f"\n## {name}\n" in TEXT


def test_the_numbers_are_those_of_the_code():
    assert f"| `num_ctx` | {DEFAULT_NUM_CTX} |" in TEXT
    assert f"| `context` | {CONTEXT} |" in TEXT
    assert f"`{TRUNCATED}`" in TEXT
