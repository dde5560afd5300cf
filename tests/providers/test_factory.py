import sys
from types import ModuleType

import pytest

from mead.config import Secret
from mead.config.settings import ProviderOptions, SlotSettings
from mead.errors import ConfigurationError, TurnFailed
from mead.providers.anthropic import AnthropicProvider
from mead.providers.factory import boot_check, build_provider
from mead.providers.ollama import OllamaProvider
from mead.providers.openai import OpenAiProvider
from mead.providers.scripted import ScriptedProvider
from tests.helpers.model_words import ask, message_events, options
from tests.helpers.replay_server import ReplayServer, sse


def slot(provider, **changes):
    return SlotSettings(provider=provider, options=options(**changes))


def custom(path, **given):
    return SlotSettings(provider=path, options=ProviderOptions(model="", custom=given))


def faults_of(settings, name="cloud"):
    with pytest.raises(ConfigurationError) as refused:
        build_provider(name, settings)
    return refused.value.faults


class OwnProvider:
    """A provider of an operator's own."""

    name = "own"
    host = None

    def __init__(self, *, model: str, api_key: Secret | None = None) -> None:
        self.model = model
        self.api_key = api_key

    def complete(self, request):
        del request


class Nameless(OwnProvider):
    name = None


class Mute(OwnProvider):
    complete = None


class Explosive(OwnProvider):
    def __init__(self, **given):
        raise RuntimeError(given["api_key"].reveal())


class Elsewhere(OwnProvider):
    host = "203.0.113.7:80"


@pytest.fixture(autouse=True)
def own_modules(monkeypatch):
    """Modules as an operator's package would have them."""
    good = ModuleType("own_providers")
    for one in (OwnProvider, Nameless, Mute, Explosive, Elsewhere):
        setattr(good, one.__name__, one)
    good.number = 3
    monkeypatch.setitem(sys.modules, "own_providers", good)


@pytest.mark.parametrize(
    ("provider", "kind", "host"),
    [
        ("anthropic", AnthropicProvider, "api.anthropic.com:443"),
        ("openai", OpenAiProvider, "api.openai.com:443"),
        ("ollama", OllamaProvider, "127.0.0.1:11434"),
    ],
)
def test_a_slot_gets_its_provider_at_the_makers_address(provider, kind, host):
    built = build_provider("cloud", slot(provider))
    assert isinstance(built, kind)
    assert (built.name, built.model, built.host) == (provider, "test-model", host)


def test_a_scripted_slot_needs_nothing_but_its_script():
    built = build_provider("local", slot("scripted", script=("Hi",)))
    assert isinstance(built, ScriptedProvider)
    assert built.complete(ask()).text == "Hi"


def test_an_embedded_slot_has_no_host_before_its_server_runs():
    built = build_provider("local", slot("embedded", api_key=None))
    assert (built.name, built.model, built.host) == ("embedded", "test-model", None)


def test_a_broken_script_is_told_with_its_full_path():
    (fault,) = faults_of(slot("scripted", script=({"txt": "x"},)))
    assert fault.startswith("router.slots.cloud.script[0].txt: is not known here; allowed: text,")


def test_a_broken_address_is_told_with_its_full_path():
    (fault,) = faults_of(slot("openai", base_url="nonsense"))
    assert fault.startswith("router.slots.cloud.base_url ")


@pytest.mark.parametrize("provider", ["anthropic", "openai", "ollama"])
def test_the_local_slot_sends_nothing_elsewhere(provider):
    built = build_provider("local", slot(provider, base_url="http://203.0.113.7/v1"))
    with pytest.raises(TurnFailed) as failed:
        built.complete(ask())
    assert failed.value.reason == "not_local"
    assert boot_check("local", built).fault is not None


def test_the_cloud_slot_promises_nothing():
    built = build_provider("cloud", slot("openai", base_url="http://203.0.113.7/v1"))
    assert boot_check("cloud", built).fault is None


def test_the_local_slot_reaches_a_server_here():
    with ReplayServer(sse(*message_events())) as server:
        built = build_provider("local", slot("anthropic", base_url=server.url))
        assert boot_check("local", built).fault is None
        assert built.complete(ask()).text == "Hello there."
        built.close()


# -- a class of one's own --------------------------------------------------------------------------


def test_a_class_of_ones_own_gets_its_options():
    built = build_provider("cloud", custom("own_providers:OwnProvider", model="m"))
    assert isinstance(built, OwnProvider)
    assert built.model == "m"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nowhere_at_all:Class", "no module named nowhere_at_all"),
        ("own_providers:Missing", "has no class Missing"),
        ("own_providers:number", "has no class number"),
        ("own_providers:Nameless", "no usable name"),
        ("own_providers:Mute", "no method complete"),
        ("nonsense", "package.module:Class"),
        ("own_providers:", "package.module:Class"),
    ],
)
def test_a_class_that_cannot_be_used_is_told_in_one_line(path, told):
    (fault,) = faults_of(custom(path, model="m"))
    assert fault.startswith("router.slots.cloud.provider ")
    assert told in fault


def test_options_that_a_class_does_not_take_are_told_without_their_values():
    (fault,) = faults_of(custom("own_providers:OwnProvider", model="m", keys="s3cret"))
    assert "does not take its options" in fault
    assert "s3cret" not in fault


def test_what_a_class_says_when_it_fails_is_not_repeated():
    (fault,) = faults_of(custom("own_providers:Explosive", api_key=Secret("s3cret")))
    assert "RuntimeError" in fault
    assert "s3cret" not in fault


def test_a_module_that_fails_while_it_is_imported_is_told(tmp_path, monkeypatch):
    (tmp_path / "broken_provider.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (fault,) = faults_of(custom("broken_provider:Class", model="m"))
    assert "ZeroDivisionError" in fault


def test_a_class_on_the_local_slot_is_guarded_and_on_the_cloud_slot_is_not():
    elsewhere = build_provider("local", custom("own_providers:Elsewhere", model="m"))
    assert boot_check("local", elsewhere).fault is not None
    with pytest.raises(TurnFailed) as failed:
        elsewhere.complete(ask())
    assert failed.value.reason == "not_local"
    here = build_provider("local", custom("own_providers:OwnProvider", model="m"))
    assert boot_check("local", here).fault is None
    cloud = build_provider("cloud", custom("own_providers:Elsewhere", model="m"))
    assert boot_check("cloud", cloud).fault is None
    assert cloud.complete(ask()) is None


def test_a_slot_may_allow_a_class_elsewhere():
    settings = SlotSettings(
        provider="own_providers:Elsewhere",
        options=ProviderOptions(model="m", custom={"model": "m"}, allow_remote=True),
    )
    built = build_provider("local", settings)
    assert boot_check("local", built).fault is None
    assert built.complete(ask()) is None
