"""`doctor` names the files whose secrets other accounts can read."""

import os
from pathlib import Path

import pytest

from mead.cli.exposed_files import exposed_files
from mead.config import load_settings
from wsgi import create_app

TOKEN = "t" * 43


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A file of settings, and one that it takes a token from; both private."""
    settings, token = tmp_path / "mead.toml", tmp_path / "token"
    settings.write_text(f'[mcp_server]\ntoken = "{"m" * 40}"\n[deck]\ntoken = "file:token"\n')
    token.write_text(TOKEN)
    for path in (settings, token):
        path.chmod(0o600)
    return settings, token


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_with_a_secret_that_others_can_read_is_named(
    tmp_path: Path, files: tuple[Path, Path], mode: int
) -> None:
    settings, token = files
    assert exposed_files(load_settings({}, tmp_path), tmp_path) == []
    token.chmod(mode)
    assert exposed_files(load_settings({}, tmp_path), tmp_path) == [token]
    settings.chmod(mode)
    assert exposed_files(load_settings({}, tmp_path), tmp_path) == [settings, token]


def test_a_file_without_a_secret_may_be_read_by_anyone(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_text('[deck]\ntoken = "env:TOKEN"\nqueue_limit = 5\n')
    (tmp_path / "mead.toml").chmod(0o644)
    assert exposed_files(load_settings({"TOKEN": TOKEN}, tmp_path), tmp_path) == []


def test_a_file_of_somebody_else_is_theirs_to_close(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("giving a file away needs root")
    for path in files:
        path.chmod(0o644)
        os.chown(path, 65_534, 65_534)
    assert exposed_files(load_settings({}, tmp_path), tmp_path) == []


def test_a_file_that_mead_config_names_is_found(tmp_path: Path, files: tuple[Path, Path]) -> None:
    other = files[0].rename(tmp_path / "other.toml")
    other.chmod(0o644)
    found = exposed_files(load_settings({"MEAD_CONFIG": str(other)}, tmp_path), tmp_path)
    assert found == [other]


def test_doctor_says_what_to_do(tmp_path: Path, files: tuple[Path, Path]) -> None:
    settings = files[0]
    settings.chmod(0o644)
    environ = {"MEAD_CONFIG": str(settings), "MEAD_DECK__TOKEN": TOKEN}
    app = create_app(load_settings(environ, tmp_path))
    result = app.test_cli_runner().invoke(args=["mead", "doctor"])
    assert (
        f"secrets: other accounts of this machine can read {settings}: chmod 600" in result.stdout
    )
    assert result.exit_code == 1
