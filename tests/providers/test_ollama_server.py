"""The Ollama provider against a server with Ollama's wire and llama.cpp's tokens.  Spec: section 5.

The test model knows no word: a token is a letter or a byte, and what it says is the same nonsense
each time.
"""

import gevent
import pytest
from gevent.event import Event

from mead.config.settings import ProviderOptions
from mead.errors import TurnFailed
from mead.protocols import Exchange, ModelRequest, Tool
from mead.providers.locality import LocalGuard
from mead.providers.ollama import OllamaProvider
from tests.helpers.ollama_server import MODELS
from tests.helpers.waiting import eventually

TOOL = Tool(
    name="files__read",
    server="files",
    tool="read",
    kind="read",
    description="Read a file",
    schema={"type": "object", "properties": {}},
)


@pytest.fixture
def provider(ollama):
    made = []

    def make(**given) -> OllamaProvider:
        defaults = {"model": "test-model", "temperature": 0.0, "max_tokens": 16}
        options = ProviderOptions(base_url=ollama.address, **{**defaults, **given})
        made.append(OllamaProvider(options, guard=LocalGuard(ollama.address)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def ask(prompt: str = "hello", **more) -> ModelRequest:
    return ModelRequest(history=(), prompt=prompt, **more)


def test_a_stream_and_a_plain_call_say_the_same(provider, ollama):
    shown: list[str] = []
    streamed = provider().converse_stream(ask(), shown.append)
    plain = provider(extra={"stream": False}).complete(ask())
    assert "".join(shown) == streamed.text == plain.text
    assert len(shown) > 1
    assert streamed.usage == plain.usage
    assert streamed.usage.output == 16
    assert streamed.stop_reason == plain.stop_reason == "max_tokens"
    streams = [each["body"]["stream"] for each in ollama.requests() if each["path"] == "/api/chat"]
    assert streams == [True, False]


def test_a_conversation_beyond_num_ctx_is_answered_with_a_warning(provider):
    """Ollama drops the oldest messages and answers 200: the count of tokens shows it."""
    history = tuple(
        Exchange(prompt=f"question {number} " + "word " * 60, answer="yes " * 60)
        for number in range(10)
    )
    request = ModelRequest(history=history, prompt="and now?")
    assert provider(num_ctx=600).complete(request).warnings == ("truncated_prompt",)
    assert provider(num_ctx=8192).complete(request).warnings == ()


def test_a_single_prompt_beyond_num_ctx_is_answered_with_a_warning(provider):
    reply = provider(num_ctx=300).complete(ask("one two three " * 200))
    assert reply.warnings == ("truncated_prompt",)


def test_the_operator_may_have_ollama_refuse_instead(provider):
    strict = provider(num_ctx=300, extra={"truncate": False})
    with pytest.raises(TurnFailed) as failed:
        strict.complete(ask("one two three " * 200))
    assert failed.value.reason == "context_too_long"


@pytest.mark.parametrize(
    ("given", "more", "reason"),
    [
        ({"model": "unknown-model"}, {}, "model_not_found"),
        ({}, {"tools": (TOOL,)}, "tools_unsupported"),
        ({"think": True}, {}, "invalid_request"),
        ({"model": "alias-of-a-remote-one"}, {}, "not_local"),
        ({"model": "gpt-oss:120b-cloud"}, {}, "not_local"),
    ],
)
def test_ollamas_refusals_become_reasons(provider, given, more, reason):
    with pytest.raises(TurnFailed) as failed:
        provider(**given).converse(ask(**more))
    assert failed.value.reason == reason


def test_a_prompt_never_reaches_a_server_for_a_remote_model(provider, ollama):
    with pytest.raises(TurnFailed):
        provider(model="alias-of-a-remote-one").complete(ask("a secret"))
    assert [each["path"] for each in ollama.requests()] == ["/api/show"]


def test_an_alias_pointed_elsewhere_is_refused_at_the_next_turn(provider, ollama):
    alias = provider()
    assert alias.complete(ask()).text
    remote = {"remote_host": "https://ollama.com:443", "remote_model": "gpt-oss:120b"}
    ollama.set_models([{**MODELS[0], **remote}])
    with pytest.raises(TurnFailed) as failed:
        alias.complete(ask())
    assert failed.value.reason == "not_local"


def test_a_load_longer_than_the_timeout_is_a_timeout_that_says_so(provider, ollama):
    ollama.set_models([{**MODELS[0], "load_ms": 400}])
    with pytest.raises(TurnFailed) as failed:
        provider(receive_timeout_ms=50, max_retries=0).complete(ask())
    assert failed.value.reason == "provider_timeout"
    assert "loading" in failed.value.message
    assert provider(receive_timeout_ms=5000).complete(ask()).text


def test_a_killed_call_frees_the_models_slot(provider, tiny_server):
    """Issue 2: cancelling a turn frees the slot within a second (5 s here, on a loaded machine)."""
    shown = Event()
    endless = provider(num_ctx=16000, max_tokens=15000)
    call = gevent.spawn(endless.converse_stream, ask(), lambda text: shown.set())
    assert shown.wait(5)
    assert tiny_server.busy_slots() == 1
    call.kill()
    assert eventually(lambda: tiny_server.busy_slots() == 0)
