"""The deck page: its modules under Node, and the whole of it in a real Chromium.

The tests themselves are in unit/ and browser/, for Node's own runner.  Browsers and servers are
child processes of it, so nothing here is patched by gevent.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.page.modules import install, node

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
CHROMIUM: Final = os.environ.get("MEAD_CHROMIUM") or shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing")


def _files(folder: str) -> list[Path]:
    return sorted((HERE / folder).glob("*.test.mjs"))


def _run(file: Path, **environment: str) -> None:
    """Run one file of tests; what they print is the message of a failure."""
    ran = subprocess.run(
        [str(node()), "--test", "--test-reporter=spec", str(file)],
        cwd=ROOT,
        env={**os.environ, "MEAD_PAGE_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "tests 0" not in ran.stdout


@pytest.mark.parametrize("file", _files("unit"), ids=lambda file: file.name.split(".")[0])
@pytest.mark.timeout(60)
def test_the_modules_of_the_page(file):
    _run(file)


@needs_chromium
@pytest.mark.e2e
@pytest.mark.parametrize("file", _files("browser"), ids=lambda file: file.name.split(".")[0])
@pytest.mark.timeout(1200 if os.environ.get("MEAD_SCREENSHOTS") else 420)
def test_the_page_in_chromium(file):
    _run(
        file,
        MEAD_PAGE_MODULES=str(install()),
        MEAD_CHROMIUM=str(CHROMIUM),
    )
