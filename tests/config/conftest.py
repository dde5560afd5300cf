from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mead.config import Settings, load_settings
from mead.errors import ConfigurationError

Load = Callable[..., Settings]
Faults = Callable[..., tuple[str, ...]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Settings of a directory that holds this mead.toml (none at all for None)."""

    def load(
        toml: str | None = None,
        environ: Mapping[str, str] | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> Settings:
        if toml is not None:
            (tmp_path / "mead.toml").write_text(toml, encoding="utf-8")
        return load_settings(environ or {}, tmp_path, overrides)

    return load


@pytest.fixture
def faults(load: Load) -> Faults:
    """The fault lines of the same, which has to be refused."""

    def faults(*arguments: object) -> tuple[str, ...]:
        with pytest.raises(ConfigurationError) as caught:
            load(*arguments)
        assert all("\n" not in line for line in caught.value.faults)
        return caught.value.faults

    return faults


def refused(values: object) -> tuple[str, ...]:
    """The fault lines of a mapping that `Settings.build` has to refuse."""
    with pytest.raises(ConfigurationError) as caught:
        Settings.build(values, environ={})
    return caught.value.faults
