"""llama.cpp's real HTTP server in a process of its own, for tests.

One slot, no prompt cache and the /slots endpoint: what a test compares or watches is then exact.
The process is Mead's own script for the embedded model, so that it ends with the test process.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import requests

import mead.providers

SCRIPT = Path(mead.providers.__file__).parent / "embedded_child.py"
KEY = "test-key-of-the-model-server"


def child_settings(model_file: Path, **changes: object) -> dict[str, object]:
    """The settings that the script reads from stdin."""
    return {
        "model_file": str(model_file),
        "alias": "test-model",
        "api_key": KEY,
        "slots": True,
        "context": 4096,
        "parallel": 1,
        "threads": 2,
        "cache_prompt": False,
        "temperature": None,
        "repeat_penalty": None,
        **changes,
    }


@dataclass
class ModelServer:
    """A running server."""

    process: subprocess.Popen[bytes]
    address: str
    key: str = KEY

    @classmethod
    def start(cls, model_file: Path, **changes: object) -> "ModelServer":
        """Start one and wait until its model is loaded."""
        process = start_child(child_settings(model_file, **changes))
        line = process.stdout.readline()
        process.stdout.close()
        return cls(process, json.loads(line)["address"])

    def get(self, path: str) -> object:
        """The JSON behind a path."""
        return self._session().get(self.address + path, timeout=5).json()

    def post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        """What the server answers to a JSON body."""
        return self._session().post(self.address + path, json=body, timeout=30).json()

    def busy_slots(self) -> int:
        """How many slots work on something."""
        return sum(slot["is_processing"] for slot in self.get("/slots"))

    def stop(self) -> None:
        """End it."""
        self.process.stdin.close()
        self.process.wait(5)

    def _session(self) -> requests.Session:
        session = requests.Session()
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {self.key}"
        session.headers["Connection"] = "close"
        return session


def start_child(settings: dict[str, object]) -> "subprocess.Popen[bytes]":
    """The script, its settings handed over."""
    process = subprocess.Popen(
        [sys.executable, "-P", str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "OMP_WAIT_POLICY": "passive"},
    )
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    process.stdin.flush()
    return process
