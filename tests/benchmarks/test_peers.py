"""The peers of the benchmarks: installed apart, or left out with a line."""

import subprocess
import sys

import psutil
import pytest

from benchmarks.peers import HERE, Options, pins_of, skipping
from benchmarks.servers import ROOT, free_port, started
from tests import peers
from tests.helpers.waiting import eventually

pytestmark = pytest.mark.timeout(120)

NAMES = sorted(file.stem for file in HERE.glob("*.txt"))


def test_a_peer_that_cannot_be_installed_is_skipped_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(peers, "ATTEMPTS", 1)
    assert Options(tmp_path).peer("socketio") is None
    assert (
        capsys.readouterr().out == "skipped: socketio could not be installed (pip: exit status 1)\n"
    )
    assert not peers.is_installed("socketio", HERE / "socketio.txt", tmp_path)


def test_a_peer_that_does_not_start_is_skipped_with_its_last_words(capsys):
    command = [sys.executable, "-c", "raise SystemExit('no such luck')"]
    with skipping("the peer"), started(command, free_port(), "/"):
        raise AssertionError("it cannot have started")
    said = capsys.readouterr().out
    assert (
        said == "skipped: the peer did not start: it did not answer; it said last: no such luck\n"
    )


def test_a_benchmark_that_is_killed_leaves_no_server_behind():
    code = "\n".join(
        [
            "import sys, time",
            "from benchmarks.servers import gunicorn",
            "with gunicorn() as server:",
            "    print(server.pid, flush=True)",
            "    time.sleep(60)",
        ]
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as benchmark:
        server = psutil.Process(int(benchmark.stdout.readline()))
        benchmark.kill()
        benchmark.wait(5)
    eventually(lambda: not server.is_running(), 20)


@pytest.mark.parametrize("name", [*NAMES, "mcp"])
def test_every_package_of_a_peer_is_pinned(name):
    lines = [line for line in pins_of(name) if not line.startswith("#")]
    assert lines
    assert all("==" in line for line in lines)


def test_what_is_installed_is_known_by_its_pins(tmp_path):
    pins = tmp_path / "pins.txt"
    pins.write_text("")
    python = peers.environment("nothing", pins, tmp_path)
    assert python.exists()
    assert peers.is_installed("nothing", pins, tmp_path)
    pins.write_text("# another list\n")
    assert not peers.is_installed("nothing", pins, tmp_path)
