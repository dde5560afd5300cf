"""Whether a slot would work: asked of its model server, for `flask mead doctor`."""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from mead.actors.green import Timeout, time_limit
from mead.config.settings import SlotSettings
from mead.errors import ConfigurationError, TurnFailed
from mead.protocols import Provider
from mead.providers.base import HttpProvider
from mead.providers.embedded_model import missing_part
from mead.providers.factory import boot_check, build_provider
from mead.providers.http import Call
from mead.providers.shape import dumped, objects_in, text_in, texts_in
from mead.turn import Route

_REFUSED_KEY: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)

_LOAD_ADVICE: Final = (
    "the first turn after Ollama unloaded the model waits for it to load: set keep_alive, and"
    " raise receive_timeout_ms together with runtime.turn_timeout_ms"
)

_NAMES: Final = 5
_LONGEST_NAME: Final = 100
"""What of a server's list is shown."""

Finding = tuple[bool, str]
"""Whether it is well, and the sentence for the operator."""


def diagnose(slot: Route, settings: SlotSettings) -> Iterator[Finding]:
    """What is well and what is not.  Never raises.  Blocks on: network, bounded."""
    try:
        provider = build_provider(slot, settings)
        check = boot_check(slot, provider)
    except ConfigurationError as error:
        yield from ((False, fault) for fault in error.faults)
        return
    trouble = check.fault or check.warning
    if trouble is not None:
        yield False, trouble
    elif settings.provider == "embedded":
        missing = missing_part(settings.options.model_file)
        yield (True, "the embedded model is installed") if missing is None else (False, missing)
    else:
        yield from _asked(settings, provider)


def _asked(settings: SlotSettings, provider: Provider) -> list[Finding]:
    ask = _ASK.get(settings.provider)
    if ask is None or not isinstance(provider, HttpProvider):
        return [(True, f"{settings.provider} needs no server")]
    options = settings.options
    limit = time_limit(options.connect_timeout_ms + options.receive_timeout_ms)
    try:
        return list(ask(provider))
    except TurnFailed as error:
        return [(False, error.message)]
    except Timeout as expired:
        if expired is not limit:
            raise
        return [(False, "the server does not finish its answer in time")]
    finally:
        limit.close()
        provider.close()


def _ollama(provider: HttpProvider) -> Iterator[Finding]:
    model = provider.model
    headers = {"Content-Type": "application/json"}
    status, shape = provider.inquire(Call("POST", "/api/show", dumped({"model": model}), headers))
    if status == HTTPStatus.NOT_FOUND:
        yield False, f"Ollama has no model {model}: ollama pull {model}"
    elif status != HTTPStatus.OK:
        yield False, f"Ollama answered {status}"
    else:
        yield True, f"Ollama has the model {model}"
        if "tools" in texts_in(shape, "capabilities"):
            yield True, f"{model} can call tools"
        else:
            yield False, f"{model} cannot call tools: a turn that is shown a tool will fail"
        yield True, _LOAD_ADVICE


def _openai(provider: HttpProvider) -> Iterator[Finding]:
    model = provider.model
    status, shape = provider.inquire(Call("GET", "/models"))
    if status in _REFUSED_KEY:
        yield False, "the server refused the key: set api_key"
        return
    if status != HTTPStatus.OK:
        yield False, f"the server answered {status} when asked for its models"
        return
    listed = [text_in(row, "id") for row in objects_in(shape, "data")]
    if model in listed:
        yield True, f"the server has the model {model}"
    else:
        known = [name for name in listed if name.isprintable() and 0 < len(name) <= _LONGEST_NAME]
        others = f", but {', '.join(known[:_NAMES])}" if known else ""
        yield False, f"the server does not list the model {model}{others}"


def _anthropic(provider: HttpProvider) -> Iterator[Finding]:
    model = provider.model
    status, _ = provider.inquire(Call("GET", f"/v1/models/{quote(model, safe='')}"))
    if status in _REFUSED_KEY:
        yield False, "the key was refused: set api_key or ANTHROPIC_API_KEY"
    elif status == HTTPStatus.NOT_FOUND:
        yield False, f"there is no model {model}"
    elif status != HTTPStatus.OK:
        yield False, f"the API answered {status}"
    else:
        yield True, f"the API has the model {model}"


_ASK: Final[dict[str, Callable[[HttpProvider], Iterator[Finding]]]] = {
    "ollama": _ollama,
    "openai": _openai,
    "anthropic": _anthropic,
}
