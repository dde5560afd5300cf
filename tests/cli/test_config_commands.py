"""`config` and `token`, each in a process of its own: what is printed and how it ends."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).parents[2]


def run(
    command: str, *arguments: str, at: Path, **environ: str
) -> subprocess.CompletedProcess[str]:
    program = f"from mead.cli.config_commands import {command}_command as c; c()"
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=at,
        env={**kept, **environ},
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )


def test_config_shows_every_setting_and_its_source(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_text("[deck]\nqueue_limit = 3\n")
    done = run("config", at=tmp_path, MEAD_DECK__TOKEN="hidden" * 8)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in done.stdout.splitlines()}
    assert rows["deck.queue_limit"] == ["3", "mead.toml"]
    assert rows["deck.token"] == ["********", "environment MEAD_DECK__TOKEN"]
    assert rows["storage.directory"] == ["-", "default"]
    assert "hidden" not in done.stdout


def test_config_as_json_holds_the_same(tmp_path: Path) -> None:
    done = run("config", "--json", at=tmp_path, PORT="8000")
    rows = {row["key"]: (row["value"], row["source"]) for row in json.loads(done.stdout)}
    assert rows["mcp_server.port"] == (8000, "PORT")
    assert rows["storage.directory"] == (None, "default")


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--check", "mead.toml")])
def test_bad_settings_end_with_2_and_a_line_for_each_fault(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "mead.toml").write_text("[deck]\nqueue_limit = 'many'\ntoken = 'hidden'\n")
    done = run("config", *arguments, at=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["deck.token", "deck.queue_limit"]
    assert "hidden" not in done.stderr
    assert "Traceback" not in done.stderr


def test_check_looks_at_that_file_and_not_at_mead_toml(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_text("broken")
    (tmp_path / "new.toml").write_text("[deck]\nqueue_limit = 3\n")
    done = run("config", "--check", "new.toml", at=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "new.toml: no faults\n", "")


def test_a_file_to_check_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    done = run("config", "--check", "gone.toml", at=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"MEAD_CONFIG: found .*, which does not exist; .*\n", done.stderr)


def test_each_token_is_fresh_and_good_for_the_settings(tmp_path: Path) -> None:
    tokens = [run("token", at=tmp_path).stdout.strip() for _ in range(2)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens)
    assert tokens[0] != tokens[1]
    done = run("config", at=tmp_path, MEAD_DECK__TOKEN=tokens[0], MEAD_MCP_SERVER__TOKEN=tokens[1])
    assert done.returncode == 0
