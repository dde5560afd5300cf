"""The limit of open files, in a process of its own, since it can only be lowered for good."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
from gevent import monkey; monkey.patch_all()
import logging, resource, sys
logging.basicConfig(stream=sys.stdout)
soft, hard = map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from mead import Mead
with Mead({"storage": {"directory": sys.argv[1]}}) as mead:
    print("allowed", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if hard > 2000:
        ids = [mead.start_session() for _ in range(1000)]
        print("sessions", mead.status()["sessions"])
"""


def run(directory: Path, soft: int, hard: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(directory), str(soft), str(hard)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.timeout(70)
def test_a_full_pool_fits_under_the_usual_soft_limit(tmp_path: Path) -> None:
    assert run(tmp_path / "var", 1024, 4096) == ["allowed 2400", "sessions 1000"]


def test_a_hard_limit_that_is_too_low_is_said_with_what_to_do(tmp_path: Path) -> None:
    warning, allowed = run(tmp_path / "var", 512, 1024)
    assert allowed == "allowed 1024"
    assert "2400 files" in warning
    assert "ulimit -n" in warning
