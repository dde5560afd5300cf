"""What each provider takes, and what a slot refuses."""

from pathlib import Path

import pytest

from mead.config import EMBEDDED_MODEL, ProviderOptions, Secret, Settings, SlotSettings
from tests.config.conftest import Faults, Load, refused


def slot(options: dict[str, object], name: str = "cloud") -> SlotSettings:
    return Settings.build({"router": {"slots": {name: options}}}, environ={}).router.slots[name]


def fault(options: dict[str, object], name: str = "cloud") -> str:
    (line,) = refused({"router": {"slots": {name: options}}})
    return line.removeprefix(f"router.slots.{name}.")


def test_every_option_of_a_provider_arrives() -> None:
    made = slot(
        {
            "provider": "anthropic",
            "model": "claude-sonnet-5-5",
            "api_key": "sk",
            "base_url": "http://127.0.0.1:9/",
            "system": "Be brief.",
            "max_tokens": 9,
            "temperature": 1,
            "connect_timeout_ms": 1,
            "receive_timeout_ms": 2,
            "max_retries": 0,
            "proxy": "http://u:p@proxy:3128",
            "effort": "xhigh",
            "cache": True,
            "extra": {"metadata": {"user_id": "u", "n": [1, None]}},
        }
    )
    assert made == SlotSettings(
        provider="anthropic",
        options=ProviderOptions(
            model="claude-sonnet-5-5",
            api_key=Secret("sk"),
            base_url="http://127.0.0.1:9",
            system="Be brief.",
            max_tokens=9,
            temperature=1.0,
            connect_timeout_ms=1,
            receive_timeout_ms=2,
            max_retries=0,
            proxy="http://u:p@proxy:3128",
            effort="xhigh",
            cache="5m",
            extra={"metadata": {"user_id": "u", "n": [1, None]}},
        ),
    )


@pytest.mark.parametrize(
    ("provider", "address"),
    [
        ("anthropic", "https://api.anthropic.com"),
        ("openai", "https://api.openai.com/v1"),
        ("ollama", "http://127.0.0.1:11434"),
    ],
)
def test_each_network_provider_has_its_makers_address(provider: str, address: str) -> None:
    options = slot({"provider": provider, "model": "m"}).options
    assert options == ProviderOptions(model="m", base_url=address)


def test_the_embedded_model_needs_no_option(tmp_path: Path) -> None:
    assert slot({"provider": "embedded"}, "local").options == ProviderOptions(model=EMBEDDED_MODEL)
    file = tmp_path / "Tiny.Q4.gguf"
    file.touch()
    named = slot({"provider": "embedded", "model_file": file, "threads": 2, "context": 512})
    assert named.options == ProviderOptions(
        model="Tiny.Q4", model_file=file, threads=2, context=512
    )


def test_a_model_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    line = fault({"provider": "embedded", "model_file": str(tmp_path)})
    assert line.endswith("; allowed: the path of a GGUF file")


def test_a_script_is_a_list_of_texts_and_tables() -> None:
    options = slot({"provider": "scripted", "script": ["a", {"error": "overloaded"}]}).options
    assert options.model == "scripted"
    assert options.script == ("a", {"error": "overloaded"})
    allowed = "allowed: a list of texts and tables, at least one"
    assert fault({"provider": "scripted"}) == f"script (code): is missing; {allowed}"
    empty = fault({"provider": "scripted", "script": []})
    assert empty == f"script (code): found an empty list; {allowed}"
    assert fault({"provider": "scripted", "script": ["a", 3]}) == (
        "script[1] (code): found 3; allowed: a text or a table with something in it"
    )


def test_a_class_gets_every_option_untouched_and_its_key_masked() -> None:
    made = slot(
        {
            "provider": "house.models:Oracle",
            "model": "delphi",
            "api_key": "sk",
            "nested": {"a": [1, {"b": 2.5}]},
            "base_url": "not an address",
        }
    )
    assert made.provider == "house.models:Oracle"
    assert made.options.model == "delphi"
    assert made.options.custom == {
        "model": "delphi",
        "api_key": Secret("sk"),
        "nested": {"a": [1, {"b": 2.5}]},
        "base_url": "not an address",
    }


def test_a_class_gets_references_resolved(load: Load) -> None:
    environ = {
        "MEAD_ROUTER__SLOTS__CLOUD__PROVIDER": "m:C",
        "MEAD_ROUTER__SLOTS__CLOUD__PIN": "env:PIN",
        "MEAD_ROUTER__SLOTS__CLOUD__API_KEY": "123",
        "MEAD_ROUTER__SLOTS__CLOUD__SIZE": "3",
        "PIN": "4321",
    }
    custom = load(None, environ).router.slots["cloud"].options.custom
    assert custom == {"pin": Secret("4321"), "api_key": Secret("123"), "size": 3}


def test_allow_remote_is_the_slots_own_word_and_not_the_classs(load: Load) -> None:
    made = slot({"provider": "m:C", "model": "m", "allow_remote": True})
    assert made.options.allow_remote is True
    assert made.options.custom == {"model": "m"}
    assert slot({"provider": "m:C"}).options.allow_remote is False
    environ = {
        "MEAD_ROUTER__SLOTS__LOCAL__PROVIDER": "m:C",
        "MEAD_ROUTER__SLOTS__LOCAL__ALLOW_REMOTE": "true",
    }
    assert load(None, environ).router.slots["local"].options.allow_remote is True
    assert fault({"provider": "m:C", "allow_remote": "yes"}) == (
        'allow_remote (code): found "yes"; allowed: true or false'
    )


def test_a_class_whose_reference_leads_nowhere_is_a_fault() -> None:
    assert fault({"provider": "m:C", "pin": "env:PIN", "api_key": "key"}) == (
        'pin (code): found a reference to the variable "PIN", which is not set; allowed: what m:C'
        " takes"
    )
    assert fault({"provider": "m:C", "api_key": " "}).startswith("api_key (code): found an empty")


@pytest.mark.parametrize(
    "provider", ["gpt", "", "a:b:c", ":C", "m:", "m.C", "m:C()", 3, ["ollama"]]
)
def test_a_provider_that_is_none_is_a_fault(provider: object) -> None:
    line = fault({"provider": provider, "model": "m"})
    assert line.startswith("provider (code): found ")
    assert line.endswith(
        "allowed: one of ollama, anthropic, openai, embedded, scripted, or package.module:Class"
    )


def test_a_slot_without_provider_is_a_fault() -> None:
    assert fault({}).startswith("provider (code): is missing; allowed: one of ollama")
    assert fault({"model": "m"}).startswith("provider (code): is missing; allowed: one of ollama")


def test_a_third_slot_is_a_fault() -> None:
    (line,) = refused({"router": {"slots": {"clod": {"provider": "embedded"}}}})
    assert line == (
        "router.slots.clod (code): unknown key; did you mean router.slots.cloud?;"
        " known here: local, cloud"
    )


def test_the_local_slot_takes_no_proxy() -> None:
    options = {"provider": "ollama", "model": "m", "proxy": "http://p:1"}
    line = fault(options, "local")
    assert line == "proxy (code): is refused on the slot local, whose calls go nowhere else"
    assert slot(options).options.proxy == "http://p:1"
    custom = fault({"provider": "m:C", "proxy": "http://p:1"}, "local")
    assert custom == "proxy (code): is refused on the slot local, whose calls go nowhere else"


@pytest.mark.parametrize(
    ("provider", "option", "owner"),
    [
        ("anthropic", "keep_alive", "ollama"),
        ("openai", "effort", "anthropic"),
        ("embedded", "base_url", "ollama, anthropic, openai"),
        ("ollama", "script", "scripted"),
    ],
)
def test_an_option_of_another_provider_is_told_to_be_one(
    provider: str, option: str, owner: str
) -> None:
    line = fault({"provider": provider, "model": "m", option: "x"})
    assert line.startswith(f"{option} (code): unknown key; an option of {owner}; known here: ")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("model", "", "found an empty text; allowed: the name of a model"),
        ("model", None, "is missing; allowed: the name of a model"),
        ("model", "a\nb", 'found "a\\nb"; allowed: the name of a model'),
        ("model", 3, "found 3; allowed: the name of a model"),
        ("max_tokens", 0, "found 0; allowed: a whole number from 1 to 1000000"),
        ("max_tokens", 4.0, "found 4.0; allowed: a whole number from 1 to 1000000"),
        ("max_tokens", True, "found true; allowed: a whole number from 1 to 1000000"),
        ("max_tokens", "4", 'found "4"; allowed: a whole number from 1 to 1000000'),
        ("temperature", 2.1, "found 2.1; allowed: a number from 0 to 2"),
        ("temperature", float("nan"), "found nan; allowed: a number from 0 to 2"),
        ("allow_remote", "yes", 'found "yes"; allowed: true or false'),
        ("api_key", "", "found an empty text; allowed: a text of visible ASCII characters"),
        ("api_key", 12, "found a number; allowed: a text of visible ASCII characters"),
        ("api_key", "sk a", "found a text; allowed: a text of visible ASCII characters"),
        ("think", "maximum", 'found "maximum"; allowed: true, false, low, medium, high or max'),
        ("extra", [], "found a list; allowed: a table of JSON values"),
    ],
)
def test_a_wrong_option_is_one_line(option: str, value: object, message: str) -> None:
    line = fault({"provider": "ollama", "model": "m", option: value})
    assert line == f"{option} (code): {message}"


@pytest.mark.parametrize("value", [300, -1, 0, "5m", "1h30m", "-1s", "1.5h"])
def test_keep_alive_is_seconds_or_a_duration(value: object) -> None:
    options = slot({"provider": "ollama", "model": "m", "keep_alive": value}).options
    assert options.keep_alive == value


@pytest.mark.parametrize("value", ["5", "5 m", "m", "", -2, True, 1.5])
def test_keep_alive_is_nothing_else(value: object) -> None:
    line = fault({"provider": "ollama", "model": "m", "keep_alive": value})
    assert line.startswith("keep_alive (code): found ")


@pytest.mark.parametrize("think", [True, False, "low", "max"])
def test_think_is_a_switch_or_a_level(think: object) -> None:
    assert slot({"provider": "ollama", "model": "m", "think": think}).options.think == think


@pytest.mark.parametrize(("cache", "kept"), [(True, "5m"), (False, None), ("1h", "1h")])
def test_cache_is_a_switch_or_a_lifetime(cache: object, kept: str | None) -> None:
    assert slot({"provider": "anthropic", "model": "m", "cache": cache}).options.cache == kept


def test_extra_takes_json_alone() -> None:
    line = fault({"provider": "openai", "model": "m", "extra": {"a": {"b": float("inf")}}})
    assert line == "extra.a (code): found what JSON cannot say; allowed: a JSON value"


def test_a_date_of_the_file_is_no_json(faults: Faults) -> None:
    toml = '[router.slots.cloud]\nprovider = "openai"\nmodel = "m"\nextra = {at = 2026-11-30}'
    assert faults(toml) == (
        "router.slots.cloud.extra.at (mead.toml): found what JSON cannot say;"
        " allowed: a JSON value",
    )


def test_all_faults_of_a_slot_are_told_together() -> None:
    lines = refused(
        {"router": {"slots": {"local": {"provider": "ollama", "proxy": "x", "num_ctx": 1, "y": 2}}}}
    )
    assert {line.split(" ")[0].rpartition(".")[2] for line in lines} == {
        "proxy",
        "num_ctx",
        "y",
        "model",
    }
