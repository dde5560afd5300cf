"""The application as `flask mead` and a worker find it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import wsgi
from mead.config import Settings
from mead.errors import ConfigurationError
from mead.web.lifecycle import FAULTS, PROCESS
from tests.helpers.server import ROOT


def test_making_the_application_starts_nothing_and_writes_nothing(tmp_path):
    directory = tmp_path / "var"
    settings = Settings.build({"storage": {"directory": str(directory)}}, environ={})
    app = wsgi.create_app(settings)
    assert app.extensions["mead"].status()["ready"] is False
    assert not directory.exists()
    assert app.test_client().get("/readyz").status_code == 503


def test_faulty_settings_leave_the_commands_and_the_faults(tmp_path, monkeypatch):
    (tmp_path / "mead.toml").write_text("[runtime]\nturn_timeout = 1\n")
    monkeypatch.setenv("MEAD_CONFIG", str(tmp_path / "mead.toml"))
    app = wsgi.create_app()
    assert isinstance(app.extensions[FAULTS], ConfigurationError)
    assert PROCESS not in app.extensions
    assert list(app.url_map.iter_rules()) == []
    assert "mead" in app.cli.commands


@pytest.mark.parametrize("toml", ["[runtime]\nturn_timeout = 1\n", "no TOML at all"])
def test_a_command_tells_faulty_settings_without_a_traceback(tmp_path, toml):
    (tmp_path / "mead.toml").write_text(toml)
    done = subprocess.run(
        [sys.executable, "-m", "flask", "mead", "config"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "MEAD_CONFIG": str(tmp_path / "mead.toml"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=15,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout.strip()
    assert b"Traceback" not in done.stdout


def test_the_first_line_of_what_gunicorn_loads_patches():
    for name in ("wsgi.py", "gunicorn.conf.py"):
        lines = (Path(ROOT) / name).read_text().splitlines()
        assert [line.partition("  #")[0] for line in lines if line][:2] == [
            "from gevent import monkey",
            "monkey.patch_all()",
        ]
