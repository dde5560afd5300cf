"""One model reached three ways says the same.  Issue 2, shown on real input.

The model is SmolLM2 in llama.cpp with one slot, no prompt cache and temperature 0; the wires are
OpenAI's, Anthropic's (llama.cpp serves /v1/messages) and Ollama's (a test server in front of it).
"""

import gevent
import pytest
from gevent.event import Event

from mead.config import Secret
from mead.config.settings import ProviderOptions
from mead.protocols import Exchange, ModelRequest
from mead.providers.anthropic import AnthropicProvider
from mead.providers.ollama import OllamaProvider
from mead.providers.openai import OpenAiProvider
from tests.helpers.ollama_server import OllamaServer
from tests.helpers.waiting import eventually

REQUEST = ModelRequest(
    history=(Exchange(prompt="What is mead?", answer="Mead is a drink made from honey."),),
    prompt="Tell me a long story about bees.",
)


@pytest.fixture(scope="module")
def ollama_address(smollm_server):
    server = OllamaServer.start(smollm_server)
    yield server.address
    server.stop()


@pytest.fixture
def three_ways(smollm_server, ollama_address, request):
    """The providers by name, each as an operator would set it up."""
    longest = getattr(request, "param", 32)

    def options(base_url: str) -> ProviderOptions:
        return ProviderOptions(
            model="test-model",
            api_key=Secret(smollm_server.key),
            base_url=base_url,
            system="You are a helpful assistant.",
            temperature=0.0,
            max_tokens=longest,
            max_retries=0,
        )

    made = {
        "openai": OpenAiProvider(options(f"{smollm_server.address}/v1")),
        "anthropic": AnthropicProvider(options(smollm_server.address)),
        "ollama": OllamaProvider(options(ollama_address)),
    }
    yield made
    for provider in made.values():
        provider.close()


def test_the_same_first_tokens_over_three_wires(three_ways):
    shown: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, provider in three_ways.items():
        pieces: list[str] = []
        reply = provider.converse_stream(REQUEST, pieces.append)
        shown[name], texts[name] = "".join(pieces), reply.text
        assert reply.usage.output == 32
        assert reply.stop_reason == "max_tokens"
    assert len(set(texts.values())) == 1
    assert shown == texts
    assert "bee" in texts["openai"].lower()


def test_the_same_prompt_has_the_same_number_of_tokens(three_ways):
    inputs = {name: three_ways[name].complete(REQUEST).usage.input for name in ("openai", "ollama")}
    assert len(set(inputs.values())) == 1


@pytest.mark.parametrize("three_ways", [3000], indirect=True)
@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_killed_call_frees_the_slot_within_a_second(three_ways, smollm_server, name):
    """Issue 2: cancelling a turn frees the model server's slot within a second.

    Left alone, the answer would go on for the better part of a minute.
    """
    shown = Event()
    call = gevent.spawn(three_ways[name].converse_stream, REQUEST, lambda text: shown.set())
    assert shown.wait(5)
    assert smollm_server.busy_slots() == 1
    call.kill()
    assert eventually(lambda: smollm_server.busy_slots() == 0, bound_s=1)
