"""The rules that tests/conftest.py lays on every test really bite: a pytest in a child shows it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SUBJECTS = """
import socket, subprocess
import gevent, pytest
from gevent.event import Event

kept = []

def test_tidy(tmp_path):
    (tmp_path / "file").write_text("text")
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()):
            pass
    gevent.spawn(gevent.sleep, 0).join()

def test_greenlet():
    gevent.spawn(gevent.sleep, 3600)

def test_socket():
    kept.append(socket.create_server(("127.0.0.1", 0)))

def test_forgotten_socket():
    socket.create_server(("127.0.0.1", 0))

def test_file(tmp_path):
    kept.append((tmp_path / "file").open("w"))

def test_child():
    kept.append(subprocess.Popen(["sleep", "3600"]))

def test_outside():
    with pytest.raises(Exception, match="tried to connect"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

def test_names():
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("example.com", 80)
    socket.getaddrinfo("localhost", 80)

@pytest.mark.timeout(1)
def test_hang():
    Event().wait()

@pytest.mark.stress
def test_stress():
    pass

@pytest.mark.live
def test_live():
    pass
"""


def _run(directory: Path, source: str, *options: str, **environment: str) -> list[str]:
    """The lines of a pytest over `source`, under the project's own settings and conftest."""
    (directory / "test_subject.py").write_text(source)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        ROOT / "pyproject.toml",
        "-p",
        "tests.conftest",
    ]
    command += ["-p", "no:cacheprovider", "--rootdir", directory, "-rA", *options, directory]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEAD_")}
    ran = subprocess.run(
        command, cwd=ROOT, env=inherited | environment, capture_output=True, text=True
    )
    return [*ran.stdout.splitlines(), f"status {ran.returncode}"]


def _outcomes(lines: list[str]) -> dict[str, str]:
    found = (re.match(r"(PASSED|FAILED|ERROR) \S*::test_(\w+)", line) for line in lines)
    outcomes: dict[str, str] = {}
    for match in filter(None, found):
        outcomes[match[2]] = outcomes.get(match[2], "") + match[1]
    return outcomes


def test_a_test_that_leaves_something_behind_or_calls_outside_fails(tmp_path):
    lines = _run(tmp_path, SUBJECTS)
    assert _outcomes(lines) == {
        "tidy": "PASSED",
        "greenlet": "PASSEDERROR",
        "socket": "PASSEDERROR",
        "forgotten_socket": "FAILED",
        "file": "PASSEDERROR",
        "child": "PASSEDERROR",
        "outside": "PASSEDERROR",
        "names": "PASSED",
        "hang": "FAILED",
    }
    told = "\n".join(lines)
    assert "running sleep" in told
    assert "socket addr(ip='127.0.0.1'" in told
    assert "sleep 3600" in told
    assert "tried to reach 192.0.2.1 port 80" in told
    assert "still running after 1 s" in told


def test_the_opt_in_tests_run_when_their_marker_is_asked_for(tmp_path):
    assert _outcomes(_run(tmp_path, SUBJECTS, "-m", "stress or live")) == {
        "stress": "PASSED",
        "live": "PASSED",
    }


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"MEAD_CI": "1"}, "FAILED RUN: 1 skipped"),
        ({"MEAD_CHECK_FAILED": "1"}, "FAILED RUN: lint or type check failed"),
    ],
)
def test_a_run_can_fail_though_every_test_passed(tmp_path, environment, told):
    source = "import pytest\ndef test_one(): pass\ndef test_two(): pytest.skip('no')\n"
    lines = _run(tmp_path, source, **environment)
    assert lines[-1] == "status 1"
    assert "1 passed, 1 skipped" in lines[-2]
    assert any(line.startswith(told) for line in lines)
    assert _run(tmp_path, source)[-1] == "status 0"
