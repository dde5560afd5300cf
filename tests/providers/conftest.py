"""Real model servers for the tests of the providers; each is started once, when first needed."""

import pytest

from mead.config.settings import ProviderOptions
from mead.providers.embedded import EmbeddedProvider
from mead.providers.embedded_model import bundled_model
from mead.providers.embedded_server import HealthCheck
from tests.helpers.model_server import ModelServer
from tests.helpers.ollama_server import MODELS, OllamaServer
from tests.helpers.tiny_model import TOOL_TEMPLATE, write_tiny_model


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A model file of random weights whose template knows no tools."""
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny_tool_model(tmp_path_factory):
    """The same with a template that takes tools."""
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tool.gguf", TOOL_TEMPLATE)


@pytest.fixture(scope="session")
def tiny_server(tiny_model):
    """llama.cpp with the tiny model."""
    server = ModelServer.start(tiny_model, context=16384)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def smollm_server():
    """llama.cpp with SmolLM2: real words, at some 40 a second."""
    server = ModelServer.start(bundled_model())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _tiny_ollama(tiny_server):
    server = OllamaServer.start(tiny_server)
    yield server
    server.stop()


@pytest.fixture
def ollama(_tiny_ollama):
    """Ollama's wire in front of the tiny model, with its usual models and nothing asked yet."""
    _tiny_ollama.set_models(MODELS)
    _tiny_ollama.forget()
    return _tiny_ollama


@pytest.fixture
def start(tiny_model):
    """Makes a provider on the tiny model and starts its server."""
    made = []

    def starter(*, health_check=None, show_slots=False, **given):
        checks = health_check or HealthCheck()
        defaults = {
            "model": "tiny",
            "model_file": tiny_model,
            "temperature": 0.0,
            "max_tokens": 8,
            "threads": 1,
        }
        provider = EmbeddedProvider(ProviderOptions(**{**defaults, **given}))
        ref = provider.start_server(health_check=checks, show_slots=show_slots)
        made.append((provider, ref))
        return provider

    starter.made = made
    yield starter
    for provider, ref in made:
        ref.stop()
        provider.close()
