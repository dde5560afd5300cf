"""What Ollama says, and how the tests of its provider ask."""

import json

import pytest

from mead.config.settings import ProviderOptions
from mead.errors import TurnFailed
from mead.protocols import ModelRequest
from mead.providers.ollama import OllamaProvider
from tests.helpers.replay_server import Part, ReplayServer, Reply, answer, sse

HELLO = [
    {"message": {"role": "assistant", "content": "Hello"}, "done": False},
    {"message": {"role": "assistant", "content": " there 🍯"}, "done": False},
    {
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 11,
        "eval_count": 3,
    },
]
REQUEST = ModelRequest(history=(), prompt="a secret prompt")


def lines(*objects: dict) -> list[Part]:
    """NDJSON, a part for each object."""
    return [json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in objects]


def stream(parts: list[Part]) -> Reply:
    """An answer that ends with the connection: nothing but its content says that it is whole."""
    return sse(*parts, kind="application/x-ndjson", framing="close")


def paths(server: ReplayServer) -> list[str]:
    """Where the requests so far went."""
    return [each.path for each in server.seen]


def options(server: ReplayServer, **given) -> ProviderOptions:
    """Options for a test server: quick to give up."""
    defaults = {"model": "llama3.1", "base_url": server.url, "max_retries": 0}
    return ProviderOptions(**{**defaults, **given})


def failure(provider: OllamaProvider, server: ReplayServer, *replies: Reply) -> TurnFailed:
    """How the provider fails when the server answers with these."""
    server.replies = list(replies)
    with pytest.raises(TurnFailed) as failed:
        provider.converse_stream(REQUEST, lambda text: None)
    assert "secret" not in failed.value.message
    return failed.value


def error(status: int, text: str) -> Reply:
    """An error before any output."""
    return answer({"error": text}, status, kind="application/json; charset=utf-8")
