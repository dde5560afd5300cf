"""What an operator is shown."""

import orjson

from mead.config import MASK, Settings, effective
from tests.config.conftest import Load


def shown(settings: Settings) -> dict[str, tuple[object, str]]:
    return {row.key: (row.value, row.source) for row in effective(settings)}


def test_every_value_names_its_source(load: Load) -> None:
    toml = """
        [deck]
        queue_limit = 3
        token = "env:DECK"
        [router.slots.local]
        provider = "ollama"
        model = "llama3.2"
        [[mcp.servers]]
        name = "files"
        transport = "stdio"
        command = "npx"
        environment = { KEY = "sk-1" }
        tools = { read = "read" }
    """
    environ = {
        "DECK": "d" * 32,
        "OLLAMA_HOST": "box",
        "PORT": "80",
        "MEAD_DECK__HEARTBEAT_MS": "5",
        "MEAD_MCP_SERVER__TOKEN": "m" * 32,
    }
    rows = shown(load(toml, environ, {"storage": {"fsync": "never"}}))
    expected = {
        "runtime.turn_handler": ("router", "default"),
        "runtime.default_route": ("local", "default"),
        "runtime.turn_timeout_ms": (30_000, "default"),
        "runtime.handlers": ({}, "default"),
        "storage.directory": (None, "default"),
        "storage.fsync": ("never", "override"),
        "router.slots.local.provider": ("ollama", "mead.toml"),
        "router.slots.local.model": ("llama3.2", "mead.toml"),
        "router.slots.local.base_url": ("http://box:11434", "OLLAMA_HOST"),
        "router.slots.local.api_key": (None, "default"),
        "router.slots.cloud": (None, "default"),
        "mcp.servers[0].name": ("files", "mead.toml"),
        "mcp.servers[0].environment.KEY": (MASK, "mead.toml"),
        "mcp.servers[0].tools.read": ("read", "mead.toml"),
        "mcp.servers[0].call_timeout_ms": (60_000, "default"),
        "mcp_server.port": (80, "PORT"),
        "mcp_server.address": ("0.0.0.0", "PORT"),
        "mcp_server.token": (MASK, "environment MEAD_MCP_SERVER__TOKEN"),
        "deck.token": (MASK, "mead.toml, env:DECK"),
        "deck.queue_limit": (3, "mead.toml"),
        "deck.heartbeat_ms": (5, "environment MEAD_DECK__HEARTBEAT_MS"),
    }
    assert {key: rows[key] for key in expected} == expected


def test_an_option_that_its_provider_lacks_is_not_shown() -> None:
    slots = {"local": {"provider": "embedded"}, "cloud": {"provider": "m:C", "size": 3}}
    rows = shown(Settings.build({"router": {"slots": slots}}))
    assert "router.slots.local.base_url" not in rows
    assert rows["router.slots.local.context"] == (None, "default")
    assert [key for key in rows if key.startswith("router.slots.cloud")] == [
        "router.slots.cloud.provider",
        "router.slots.cloud.size",
        "router.slots.cloud.allow_remote",
    ]


def test_a_key_of_the_other_transport_is_not_shown() -> None:
    server = {"name": "a", "transport": "http", "url": "http://h"}
    rows = shown(Settings.build({"mcp": {"servers": [server]}}))
    assert "mcp.servers[0].command" not in rows
    assert rows["mcp.servers[0].headers"] == ({}, "default")


def test_secrets_inside_other_values_are_masked() -> None:
    slots = {
        "local": {"provider": "m:C", "service_token": "t-1", "api_key": "k-1", "pin": "env:PIN"},
        "cloud": {
            "provider": "openai",
            "model": "m",
            "base_url": "env:BASE",
            "proxy": "http://user:word@proxy:1",
        },
    }
    servers = [
        {"name": "a", "transport": "http", "url": "https://h/mcp?key=q-1"},
        {"name": "b", "transport": "http", "url": "env:URL", "headers": {"A": "env:PIN"}},
    ]
    environ = {"BASE": "http://b-1", "URL": "http://u-1", "PIN": "p-1"}
    settings = Settings.build(
        {"router": {"slots": slots}, "mcp": {"servers": servers}}, environ=environ
    )
    rows = shown(settings)
    assert rows["router.slots.local.service_token"] == (MASK, "code")
    assert rows["router.slots.local.pin"] == (MASK, "code, env:PIN")
    assert rows["router.slots.cloud.base_url"] == (MASK, "code, env:BASE")
    assert rows["router.slots.cloud.proxy"] == (f"http://{MASK}@proxy:1", "code")
    assert rows["mcp.servers[0].url"] == (f"https://h/mcp?{MASK}", "code")
    assert rows["mcp.servers[1].headers.A"] == (MASK, "code, env:PIN")
    everything = repr(settings) + str(settings) + str(effective(settings))
    for hidden in ("t-1", "k-1", "p-1", "b-1", "u-1", "q-1", "user:word"):
        assert hidden not in everything


def test_the_system_prompt_is_in_no_repr() -> None:
    slot = {"provider": "openai", "model": "m", "system": "You are a lighthouse."}
    settings = Settings.build({"router": {"slots": {"cloud": slot}}})
    assert "lighthouse" not in repr(settings)
    assert shown(settings)["router.slots.cloud.system"] == ("You are a lighthouse.", "code")


def test_a_text_that_only_looks_like_a_reference_is_text() -> None:
    slot = {"provider": "openai", "model": "m", "system": "file: the one on the desk"}
    rows = shown(Settings.build({"router": {"slots": {"cloud": slot}}}))
    assert rows["router.slots.cloud.system"] == ("file: the one on the desk", "code")


def test_everything_shown_is_json() -> None:
    slots = {
        "local": {"provider": "m:C", "thing": object(), "at": {"x": (1, object())}},
        "cloud": {"provider": "scripted", "script": ["a", {"b": [1]}]},
    }
    rows = effective(Settings.build({"router": {"slots": slots}}))
    assert orjson.loads(orjson.dumps([row._asdict() for row in rows]))
