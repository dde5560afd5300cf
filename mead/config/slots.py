"""The slots of the router: which options each provider knows.  Source: SPEC sections 2 and 5."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from marshmallow import ValidationError, post_load

from mead.config import network
from mead.config.fields import (
    Choice,
    Converted,
    Location,
    Number,
    PrivateText,
    SecretText,
    Setting,
    Switch,
    Text,
    Whole,
    visible,
)
from mead.config.places import fetched, is_reference
from mead.config.secrets import Secret
from mead.config.settings import (
    DEFAULT_BASE_URLS,
    EMBEDDED_MODEL,
    ProviderOptions,
    SlotSettings,
)
from mead.config.tables import JsonTable, ListOf, Section, broken_or_kind, unwrapped
from mead.config.values import EnvironmentValue, Refused, found

CLASS_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
CLASS_PATH_ALLOWED: Final = "package.module:Class"

_THINK: Final = ("low", "medium", "high", "max")
_DURATION: Final = re.compile(r"-?(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+")
_YEAR_S: Final = 366 * 86_400
_MODEL: Final = "the name of a model"
_ADDRESS: Final = "an address http(s)://host[:port][/path] without name, password and query"


def _model(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError
    return text


def _keep_alive(value: Any) -> int | str:
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= _YEAR_S:
        raise ValueError
    return value


def _think(value: Any) -> bool | str:
    if isinstance(value, bool) or value in _THINK:
        return cast(bool | str, value)
    raise ValueError


def _cache(value: Any) -> str | None:
    if isinstance(value, bool):
        return "5m" if value else None
    if value in ("5m", "1h"):
        return str(value)
    raise ValueError


def _step(value: Any) -> str | Mapping[str, Any]:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value:
        return MappingProxyType(cast(dict[str, Any], value))
    raise ValueError


class Options(Section):
    """What every built-in provider knows."""

    provider = Text("")
    model = Text(_MODEL, _model, required=True)
    system = Text("a text")
    max_tokens = Whole(1, 1_000_000)
    temperature = Number(0, 2)
    connect_timeout_ms = Whole(1, 600_000)
    receive_timeout_ms = Whole(1, 3_600_000)
    max_retries = Whole(0, 10)
    extra = JsonTable()

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> SlotSettings:
        provider = data.pop("provider")
        data["base_url"] = data.get("base_url") or DEFAULT_BASE_URLS.get(provider)
        return SlotSettings(provider=provider, options=ProviderOptions(**data))

    def remark(self, key: str) -> str | None:
        knowing = [name for name, schema in PROVIDERS.items() if key in schema.names()]
        return f"an option of {', '.join(knowing)}" if knowing else None


class NetworkOptions(Options):
    """What a provider behind an address knows besides."""

    api_key = SecretText("a text of visible ASCII characters", visible)
    base_url = PrivateText(_ADDRESS, network.base_url)
    proxy = PrivateText("an address http(s)://host[:port]", network.proxy_url)
    allow_remote = Switch()


class OllamaOptions(NetworkOptions):
    """ollama"""

    base_url = PrivateText(f"{_ADDRESS}, and without /v1", network.ollama_url)
    keep_alive = Converted(_keep_alive, f'seconds from -1 to {_YEAR_S}, or a duration like "5m"')
    num_ctx = Whole(128, 10_000_000)
    think = Converted(_think, "true, false, low, medium, high or max")


class AnthropicOptions(NetworkOptions):
    """anthropic"""

    base_url = PrivateText(f"{_ADDRESS}, and without /v1", network.bare_base_url)
    effort = Choice("low", "medium", "high", "xhigh", "max")
    cache = Converted(_cache, "true, false, 5m or 1h")


class OpenAIOptions(NetworkOptions):
    """openai"""


class EmbeddedOptions(Options):
    """embedded"""

    model = Text(_MODEL, _model)
    model_file = Location("the path of a GGUF file", lambda path: path.is_file())
    threads = Whole(1, 256)
    context = Whole(64, 10_000_000)

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> SlotSettings:
        file = data.get("model_file")
        data.setdefault("model", EMBEDDED_MODEL if file is None else file.stem)
        return super()._settings(data)


class ScriptedOptions(Options):
    """scripted"""

    model = Text(_MODEL, _model)
    script = ListOf(
        Converted(_step, "a text or a table with something in it"),
        "a list of texts and tables, at least one",
        at_least_one=True,
    )

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> SlotSettings:
        data.setdefault("model", "scripted")
        return super()._settings(data)


PROVIDERS: Final[Mapping[str, Options]] = MappingProxyType(
    {
        "ollama": OllamaOptions(),
        "anthropic": AnthropicOptions(),
        "openai": OpenAIOptions(),
        "embedded": EmbeddedOptions(),
        "scripted": ScriptedOptions(),
    }
)
_ALLOW_REMOTE: Final = Switch()
"""Of a class's slot too: what it allows is not the class's to know."""
_PROVIDER_ALLOWED: Final = f"one of {', '.join(PROVIDERS)}, or {CLASS_PATH_ALLOWED}"


class Slot(Setting):
    """A slot: the provider decides which options there are."""

    def __init__(self, *, stays_here: bool = False) -> None:
        super().__init__("a table with the provider and its options")
        self.stays_here = stays_here

    def convert(self, value: Any) -> SlotSettings:
        if not isinstance(value, dict):
            raise Refused(broken_or_kind(value))
        table = dict(cast(dict[str, Any], value))
        faults: dict[str, Any] = {}
        if self.stays_here and table.pop("proxy", None) is not None:
            faults["proxy"] = ["is refused on the slot local, whose calls go nowhere else"]
        try:
            slot = _slot(table)
        except ValidationError as error:
            raise ValidationError({**error.messages_dict, **faults}) from None
        if faults:
            raise ValidationError(faults)
        return slot


class Slots(Section):
    """`router.slots`"""

    local = Slot(stays_here=True)
    cloud = Slot()

    @post_load
    def _filled(self, data: dict[str, Any], **_: Any) -> Mapping[str, SlotSettings]:
        return MappingProxyType(data)


def _slot(table: dict[str, Any]) -> SlotSettings:
    provider = table.get("provider")
    if provider is None:
        raise ValidationError({"provider": [f"is missing; allowed: {_PROVIDER_ALLOWED}"]})
    if isinstance(provider, str) and provider in PROVIDERS:
        return cast(SlotSettings, PROVIDERS[provider].read(table))
    if isinstance(provider, str) and CLASS_PATH.fullmatch(provider):
        return _custom(provider, table)
    line = f"found {found(provider)}; allowed: {_PROVIDER_ALLOWED}"
    raise ValidationError({"provider": [line]})


def _custom(provider: str, table: Mapping[str, Any]) -> SlotSettings:
    faults: dict[str, Any] = {}
    options: dict[str, Any] = {}
    allow_remote = False
    for name, value in table.items():
        if name == "provider":
            continue
        try:
            if name == "allow_remote":
                allow_remote = value is not None and _ALLOW_REMOTE.read(value)
            else:
                options[name] = _custom_option(name, value)
        except ValidationError as error:
            faults[name] = cast(Any, error).messages
        except Refused as refused:
            faults[name] = [f"found {refused.found}; allowed: what {provider} takes"]
    if faults:
        raise ValidationError(faults)
    model = options.get("model")
    return SlotSettings(
        provider=provider,
        options=ProviderOptions(
            model=model if isinstance(model, str) else "",
            allow_remote=allow_remote,
            custom=MappingProxyType(options),
        ),
    )


def _custom_option(name: str, value: Any) -> Any:
    if is_reference(value):
        return Secret(fetched(value))
    if name != "api_key":
        return unwrapped(value)
    key = value.raw if isinstance(value, EnvironmentValue) else value
    if isinstance(key, str) and not key.strip():
        raise Refused("an empty text")
    return Secret(key) if isinstance(key, str) else key
