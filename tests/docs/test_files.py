"""The files that the docs show for systemd and Docker.

Neither runs where the tests do.  So `systemd-analyze` reads the unit, and the Dockerfile is
followed by hand: files copied, packages asked for, the command and the health check run.
"""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.docs.blocks import ROOT, Block, written_in
from tests.docs.sandbox import NOT_HERE, Sandbox, sandbox

UNITS: Final = written_in("ini")
DOCKERFILES: Final = written_in("dockerfile")
COMPOSE: Final = written_in("yaml")

MOST_EXPOSED: Final = "25"
"""Tenths of what systemd calls the exposure of a unit: 2.5 of 10."""

STEPS: Final = {
    "FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD",
}  # fmt: skip


# -- systemd ---------------------------------------------------------------------------------------


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with its program and its directory where they are."""
    (block,) = UNITS
    text = block.text.replace("/srv/mead/.venv/bin", str(Path(shutil.which("true")).parent))
    text = text.replace("bin/gunicorn", "bin/true").replace("/srv/mead", str(ROOT))
    file = tmp_path / "mead.service"
    file.write_text(text.replace("User=mead", "User=root"))
    return file


def _analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, timeout=15, check=False
    )


def test_systemd_takes_the_unit_without_a_word(unit: Path) -> None:
    assert _analyze("verify", "--man=no", str(unit)).stderr == ""
    unit.write_text(unit.read_text().replace("ProtectHome", "ProtectHouse"))
    assert "ProtectHouse" in _analyze("verify", "--man=no", str(unit)).stderr


def test_systemd_finds_the_unit_well_guarded(unit: Path) -> None:
    arguments = ("security", "--offline=yes", f"--threshold={MOST_EXPOSED}", str(unit))
    assert _analyze(*arguments).returncode == 0
    unit.write_text(re.sub(r"^(Protect|Restrict|SystemCall).*\n", "", unit.read_text(), flags=re.M))
    assert _analyze(*arguments).returncode != 0


def test_the_unit_stops_and_restarts_as_mead_ends() -> None:
    from mead.web.options import GRACEFUL_TIMEOUT_S

    parser = configparser.ConfigParser(strict=False)
    parser.optionxform = str
    parser.read_string(UNITS[0].text)
    service = parser["Service"]
    assert int(service["TimeoutStopSec"]) > GRACEFUL_TIMEOUT_S
    assert service["RestartPreventExitStatus"].split() == [str(os.EX_USAGE), str(os.EX_CONFIG)]
    assert service["ExecStart"].endswith("gunicorn wsgi:app")


# -- Docker ----------------------------------------------------------------------------------------


def steps(block: Block) -> Iterator[tuple[str, str]]:
    for line in block.text.replace("\\\n", " ").splitlines():
        word, _, rest = line.partition(" ")
        assert word in STEPS
        yield word, rest


def _copied(source: Sandbox, target: Path, step: str) -> None:
    *names, into = shlex.split(step)
    for name in names:
        if name.endswith("/"):
            shutil.copytree(source.directory / name, target / into)
        else:
            shutil.copy2(source.directory / name, target / into)


@pytest.mark.e2e
@pytest.mark.timeout(120)
def test_the_image_has_all_that_mead_needs(tmp_path: Path) -> None:
    (block,) = DOCKERFILES
    did = [word for word, _ in steps(block)]
    assert did.index("USER") < did.index("CMD")  # not as root
    with sandbox(tmp_path) as mead:
        image = tmp_path / "image"
        image.mkdir()
        mead.places["/var/lib/mead"] = str(tmp_path / "volume")
        state = {**mead.environment, "PATH": f"{mead.directory}/.venv/bin:{os.environ['PATH']}"}
        del state["MEAD_MCP_SERVER__PORT"]
        health = command = ""
        for word, rest in steps(block):
            match word:
                case "COPY":
                    _copied(mead, image, rest)
                case "RUN" if rest.split()[0] not in NOT_HERE:
                    _sh(rest, image, state)
                case "ENV":
                    state.update(pair.split("=", 1) for pair in mead.here(rest).split())
                case "HEALTHCHECK":
                    health = shlex.join(json.loads(mead.here(rest).removeprefix("CMD ")))
                case "CMD":
                    command = shlex.join(json.loads(rest))
        assert state.pop("MEAD_MCP_SERVER__ADDRESS") == "0.0.0.0"
        mead.directory, mead.environment = image, state
        mead.serve(f"exec {command}", MEAD_MCP_SERVER__PORT=str(mead.port))
        _sh(health, image, state)
        assert (tmp_path / "volume" / "mead.lock").exists()
        mead.stop()
        with pytest.raises(AssertionError):
            _sh(health, image, state)


def _sh(text: str, directory: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-euc", text],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_compose_file_fits_the_image() -> None:
    (block,), (image,) = COMPOSE, DOCKERFILES
    shape = yaml.safe_load(block.text)
    service = shape["services"]["mead"]
    assert service["stop_grace_period"] == "30s"
    (volume,) = service["volumes"]
    name, _, place = volume.partition(":")
    assert name in shape["volumes"]
    done = dict(steps(image))
    assert place == done["VOLUME"]
    assert service["ports"] == [f"127.0.0.1:{done['EXPOSE']}:{done['EXPOSE']}"]
    assert all(key.startswith("MEAD_") and "__" in key for key in service["environment"])
