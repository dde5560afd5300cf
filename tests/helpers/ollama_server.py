"""The test's side of `ollama_process.py`: a server with Ollama's wire and llama.cpp's tokens."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.helpers.model_server import ModelServer

SCRIPT = Path(__file__).parent / "ollama_process.py"
MODELS: list[dict[str, Any]] = [
    {"name": "test-model:latest"},
    {"name": "tool-model:latest", "capabilities": ["completion", "tools"]},
    {
        "name": "alias-of-a-remote-one:latest",
        "remote_host": "https://ollama.com:443",
        "remote_model": "gpt-oss:120b",
    },
]


@dataclass
class OllamaServer:
    """A running server."""

    process: "subprocess.Popen[bytes]"
    address: str

    @classmethod
    def start(cls, backend: ModelServer) -> "OllamaServer":
        """Start one in front of that model server."""
        process = subprocess.Popen(
            [sys.executable, "-P", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
        )
        settings = {"backend": backend.address, "key": backend.key, "models": MODELS}
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
        address = process.stdout.readline().decode().strip()
        process.stdout.close()
        return cls(process, address)

    def requests(self) -> list[dict[str, Any]]:
        """What was asked so far: path and body of each POST."""
        with _session() as session:
            return session.get(f"{self.address}/_requests", timeout=5).json()

    def set_models(self, models: list[dict[str, Any]]) -> None:
        """Replace the models that it has."""
        with _session() as session:
            session.post(f"{self.address}/_models", json=models, timeout=5)

    def forget(self) -> None:
        """Forget what was asked."""
        with _session() as session:
            session.post(f"{self.address}/_forget", json={}, timeout=5)

    def stop(self) -> None:
        """End it."""
        self.process.stdin.close()
        self.process.wait(5)


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.headers["Connection"] = "close"
    return session
