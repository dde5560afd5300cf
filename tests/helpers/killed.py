"""A process that is killed with -9: by its test, or when the block is left."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
BOUND_S: Final = 30


@contextmanager
def killed(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Python with these arguments, in the root of the tree."""
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait(BOUND_S)
        process.stdout.close()
