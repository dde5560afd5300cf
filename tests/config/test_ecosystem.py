"""PORT, the makers' keys and addresses: they fill gaps, and a key goes nowhere unexpected."""

import pytest

from mead.config import ProviderOptions, Settings
from tests.config.conftest import Faults, Load

ANTHROPIC = '[router.slots.cloud]\nprovider = "anthropic"\nmodel = "m"\n'
OPENAI = '[router.slots.cloud]\nprovider = "openai"\nmodel = "m"\n'
OLLAMA = '[router.slots.local]\nprovider = "ollama"\nmodel = "m"\n'


def cloud(settings: Settings) -> ProviderOptions:
    return settings.router.slots["cloud"].options


def test_port_opens_every_interface_on_that_port(load: Load) -> None:
    listener = load(None, {"PORT": "8000"}).mcp_server
    assert (listener.address, listener.port) == ("0.0.0.0", 8000)


def test_a_port_set_elsewhere_wins_and_opens_nothing(load: Load) -> None:
    listener = load("[mcp_server]\nport = 5000", {"PORT": "8000"}).mcp_server
    assert (listener.address, listener.port) == ("127.0.0.1", 5000)


def test_an_address_set_elsewhere_is_kept(load: Load) -> None:
    listener = load("[mcp_server]\naddress = '10.0.0.1'", {"PORT": "8000"}).mcp_server
    assert (listener.address, listener.port) == ("10.0.0.1", 8000)


@pytest.mark.parametrize("port", ["http", "0", "70000", "80.5", "tcp://10.0.0.1:80"])
def test_a_port_that_is_none_is_a_fault(faults: Faults, port: str) -> None:
    assert faults(None, {"PORT": port}) == (
        f'mcp_server.port (PORT): found "{port}"; allowed: a whole number from 1 to 65535',
    )


def test_a_key_alone_fills_no_slot(load: Load) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "OLLAMA_HOST": "h"}
    assert load(None, environ) == Settings()


def test_a_key_goes_to_the_providers_own_address(load: Load) -> None:
    settings = load(ANTHROPIC, {"ANTHROPIC_API_KEY": "the-key", "OPENAI_API_KEY": "another"})
    options = cloud(settings)
    assert options.api_key is not None
    assert options.api_key.reveal() == "the-key"
    assert options.base_url == "https://api.anthropic.com"
    assert settings.sources["router.slots.cloud.api_key"] == "ANTHROPIC_API_KEY"


def test_a_key_goes_to_the_address_of_the_same_environment(load: Load) -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://h:1/v1/"}
    options = cloud(load(OPENAI, environ))
    assert options.api_key is not None
    assert options.base_url == "http://h:1/v1"


@pytest.mark.parametrize("variable", [{}, {"ANTHROPIC_BASE_URL": "http://env"}])
def test_a_key_never_goes_to_an_address_that_the_file_names(
    load: Load, variable: dict[str, str]
) -> None:
    toml = ANTHROPIC + 'base_url = "https://elsewhere.example"'
    options = cloud(load(toml, {"ANTHROPIC_API_KEY": "k", **variable}))
    assert options.api_key is None
    assert options.base_url == "https://elsewhere.example"


def test_a_key_never_goes_to_an_address_of_a_mead_variable(load: Load) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "MEAD_ROUTER__SLOTS__CLOUD__BASE_URL": "http://h"}
    assert cloud(load(ANTHROPIC, environ)).api_key is None


def test_a_file_that_spells_out_the_default_address_gets_the_key(load: Load) -> None:
    toml = ANTHROPIC + 'base_url = "https://api.anthropic.com/"'
    assert cloud(load(toml, {"ANTHROPIC_API_KEY": "k"})).api_key is not None


def test_a_key_set_elsewhere_wins(load: Load) -> None:
    options = cloud(load(ANTHROPIC + 'api_key = "mine"', {"ANTHROPIC_API_KEY": "k"}))
    assert options.api_key is not None
    assert options.api_key.reveal() == "mine"


def test_empty_variables_count_as_absent(load: Load) -> None:
    environ = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "PORT"), " ")
    settings = load(ANTHROPIC, {**environ, "MEAD_CONFIG": ""})
    assert cloud(settings).api_key is None
    assert settings.mcp_server.port == 4040


def test_a_makers_variable_that_is_wrong_is_named_in_its_fault(faults: Faults) -> None:
    (line,) = faults(ANTHROPIC, {"ANTHROPIC_BASE_URL": "http://h/v1"})
    assert line.startswith("router.slots.cloud.base_url (ANTHROPIC_BASE_URL): found a text; ")


def test_ollama_host_fills_the_address(load: Load) -> None:
    settings = load(OLLAMA, {"OLLAMA_HOST": "0.0.0.0"})
    assert settings.router.slots["local"].options.base_url == "http://127.0.0.1:11434"
    assert settings.sources["router.slots.local.base_url"] == "OLLAMA_HOST"


# -- the defaults that depend on the slots ---------------------------------------------------------


def test_any_filled_slot_makes_the_router_the_handler(load: Load) -> None:
    runtime = load(ANTHROPIC).runtime
    assert (runtime.turn_handler, runtime.default_route) == ("router", "auto")


def test_the_local_slot_alone_is_the_default_route(load: Load) -> None:
    runtime = load(OLLAMA).runtime
    assert (runtime.turn_handler, runtime.default_route) == ("router", "local")
    assert load(OLLAMA + ANTHROPIC).runtime.default_route == "auto"


def test_what_was_said_of_handler_and_route_holds(load: Load) -> None:
    said = "[runtime]\nturn_handler = 'echo'\ndefault_route = 'cloud'\n"
    runtime = load(OLLAMA + said).runtime
    assert (runtime.turn_handler, runtime.default_route) == ("echo", "cloud")
