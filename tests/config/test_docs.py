"""docs/configuration.md says what the code does."""

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from mead.config import ProviderOptions, ServerSettings, Settings, effective, load_settings
from mead.config.fields import Choice, Number, Setting, Whole
from mead.config.schema import Root, known_keys
from mead.config.servers import OWN_KEYS, Server
from mead.config.slots import PROVIDERS
from mead.config.tables import ListOf, Table
from mead.errors import ConfigurationError

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "configuration.md"
TEXT: Final = DOCUMENT.read_text(encoding="utf-8")
ROWS: Final = {
    match.group(1): [cell.strip() for cell in match.group(0).strip("|").split(" | ")]
    for match in re.finditer(r"^\| `([a-z_.<>\[\]]+)` \|.*\|$", TEXT, re.MULTILINE)
}
EXAMPLES: Final = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def is_slot_or_server(key: str) -> bool:
    return "<slot>" in key or "[]" in key


def setting(key: str) -> Setting:
    """The field at a key of the document."""
    name = key.rpartition(".")[2]
    if "<slot>" in key:
        return next(one.field(name) for one in PROVIDERS.values() if name in one.names())
    if "[]" in key:
        return Server().field(key.removesuffix(".<name>").rpartition(".")[2])
    section: Any = Root()
    *parents, last = key.removesuffix(".<name>").split(".")
    for parent in parents:
        table = section.field(parent)
        assert isinstance(table, Table)
        section = table.section
    return section.field(last)


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    assert list(ROWS) == sorted(ROWS, key=list(ROWS).index)
    assert set(ROWS) == set(known_keys())


def test_the_documented_defaults_are_the_defaults() -> None:
    plain = {row.key: row.value for row in effective(Settings())}
    options, server = ProviderOptions(model="m"), ServerSettings(name="a", transport="http")
    for key, cells in ROWS.items():
        name = key.removesuffix(".<name>").rpartition(".")[2]
        if "<slot>" in key:
            default = getattr(options, name, None)
        elif "[]" in key:
            default = getattr(server, name)
        else:
            default = plain[key.removesuffix(".<name>")]
        written = cells[2 if is_slot_or_server(key) else 1]
        if written in ("required", "per provider"):
            continue
        expected = "none" if default is None else f"`{shown(default)}`"
        if key.endswith("<name>"):
            expected = "none"
        assert (key, written) == (key, expected)


def shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[]"
    return str(dict(value)) if hasattr(value, "keys") else str(value)


def test_the_documented_bounds_and_words_are_those_that_hold() -> None:
    for key, cells in ROWS.items():
        field = setting(key)
        field = field.item if isinstance(field, ListOf) else field
        allowed = cells[3 if is_slot_or_server(key) else 2]
        if isinstance(field, Whole | Number):
            assert (key, allowed) == (key, f"{field.lowest} to {field.highest}")
        elif isinstance(field, Choice):
            assert (key, allowed) == (key, ", ".join(field.words))


def test_the_document_knows_whose_option_each_is() -> None:
    network = {"ollama", "anthropic", "openai"}
    for key, cells in ROWS.items():
        name = key.removesuffix(".<name>").rpartition(".")[2]
        if "<slot>" in key:
            knowing = {one for one, schema in PROVIDERS.items() if name in schema.names()}
            named = {"all": set(PROVIDERS), "network": network}.get(cells[1], {cells[1]})
            assert (key, named) == (key, knowing)
        elif "[]" in key:
            owner = next((one for one, names in OWN_KEYS.items() if name in names), "both")
            assert (key, cells[1]) == (key, owner)


def test_every_section_has_an_example() -> None:
    sections = {section for example in EXAMPLES for section in tomllib.loads(example)}
    assert sections == set(Root().names())


def test_the_faults_shown_are_faults_that_occur(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_text('[runtime]\nturn_timeout_ms = "30s"\n[deck]\ntokn = "x"')
    with pytest.raises(ConfigurationError) as caught:
        load_settings({"MEAD_MCP_SERVER__TOKEN": "short"}, tmp_path)
    (block,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    for line, written in zip(sorted(caught.value.faults), sorted(block.splitlines()), strict=True):
        assert line.startswith(written.removesuffix("..."))
