"""Programs that use Mead's own client of the deck, each in a process of its own, without gevent."""

import subprocess
import sys
from typing import Final

from tests.docs.blocks import ROOT
from tests.helpers.server import DECK_TOKEN

HEAD: Final = "import json, sys\nfrom mead.deck.client import DeckClient\n"


def program(url: str, code: str, *arguments: str) -> subprocess.Popen[str]:
    """Run it; `sys.argv` has the server's address, the deck's token and the arguments."""
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, url, DECK_TOKEN, *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
