"""From a slot's settings to its provider: the one place that knows them all by name."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mead.config.settings import DEFAULT_BASE_URLS, ProviderOptions, SlotSettings
from mead.errors import ConfigurationError
from mead.loading import make
from mead.protocols import Provider
from mead.providers.guarded import GuardedProvider
from mead.providers.locality import BootCheck, LocalGuard
from mead.turn import Route

log = logging.getLogger(__name__)


def build_provider(slot: Route, settings: SlotSettings) -> Provider:
    """The provider behind a slot; nothing is contacted yet.

    On the slot `local` it connects only where its guard allows, checked again for every request.
    Raises ConfigurationError, one line for each fault, with the key's full path.
    """
    where = f"router.slots.{slot}"
    build = _BUILDERS.get(settings.provider)
    try:
        if build is not None:
            return build(settings.options, _guard(slot, settings))
        made = _custom(settings.provider, settings.options.custom)
    except ConfigurationError as error:
        faults = [f"{where}{_join(fault)}" for fault in error.faults]
        raise ConfigurationError(faults) from error.__cause__
    if slot != "local":
        return made
    return GuardedProvider(made, allow_remote=settings.options.allow_remote)


def boot_check(slot: Route, provider: Provider) -> BootCheck:
    """Whether the slot keeps its promise: a fault stops the boot, a warning is logged.

    An object that was handed over ready-made is asked for its `boot_check()` if it has one; else
    on the slot `local` the host that it names is checked.  Blocks on: DNS and network, bounded.
    """
    own = cast(object, getattr(provider, "boot_check", None))
    if callable(own):
        found = own()
        return found if isinstance(found, BootCheck) else BootCheck()
    if slot != "local" or provider.host is None:
        return BootCheck()
    return LocalGuard(f"http://{provider.host}").boot_check()


def _join(fault: str) -> str:
    """The fault behind the slot's path: it begins with its key, or is about the whole slot."""
    return f".{fault}" if fault.split(" ", 1)[0].split("[")[0] in _KEYS else f": {fault}"


_KEYS: Final = frozenset({"base_url", "proxy", "api_key", "script", "provider", "model"})


def _guard(slot: Route, settings: SlotSettings) -> LocalGuard | None:
    base_url = settings.options.base_url or DEFAULT_BASE_URLS.get(settings.provider)
    if slot != "local" or base_url is None:
        return None
    return LocalGuard(
        base_url,
        allow_remote=settings.options.allow_remote,
        timeout_ms=settings.options.connect_timeout_ms,
    )


# -- Mead's own; each is imported only when a slot uses it -----------------------------------------


def _anthropic(options: ProviderOptions, guard: LocalGuard | None) -> Provider:
    from mead.providers.anthropic import AnthropicProvider

    return AnthropicProvider(options, guard=guard)


def _openai(options: ProviderOptions, guard: LocalGuard | None) -> Provider:
    from mead.providers.openai import OpenAiProvider

    return OpenAiProvider(options, guard=guard)


def _ollama(options: ProviderOptions, guard: LocalGuard | None) -> Provider:
    from mead.providers.ollama import OllamaProvider

    return OllamaProvider(options, guard=guard)


def _embedded(options: ProviderOptions, guard: LocalGuard | None) -> Provider:
    from mead.providers.embedded import EmbeddedProvider

    del guard  # its server is a child on a loopback port of its own choice
    return EmbeddedProvider(options)


def _scripted(options: ProviderOptions, guard: LocalGuard | None) -> Provider:
    from mead.providers.scripted import ScriptedProvider

    del guard
    return ScriptedProvider(options.script, model=options.model)


_BUILDERS: Final[Mapping[str, Callable[[ProviderOptions, LocalGuard | None], Provider]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "ollama": _ollama,
    "embedded": _embedded,
    "scripted": _scripted,
}


# -- a class of the operator's own -----------------------------------------------------------------


def _custom(path: str, options: Mapping[str, Any]) -> Provider:
    """`package.module:Class`, made with the slot's options as keyword arguments."""
    made = make(path, "provider", options)
    for name, kind in (("name", str), ("model", str), ("host", str | None)):
        if not isinstance(getattr(made, name, ...), kind):
            raise ConfigurationError([f"provider {path} has no usable {name}"])
    if not callable(getattr(made, "complete", None)):
        raise ConfigurationError([f"provider {path} has no method complete"])
    return cast(Provider, made)
