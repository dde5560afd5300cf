"""Ollama's native API: one JSON object a line, models that load when asked, and may be elsewhere.

Source: SPEC section 5, PROVIDERS.md section 2.
"""

import re
import time
from dataclasses import dataclass
from typing import Final

from mead.actors.green import Timeout, time_limit
from mead.config.settings import DEFAULT_BASE_URLS, ProviderOptions
from mead.errors import TurnFailed
from mead.protocols import ModelReply, ModelRequest
from mead.providers.answer import Answer
from mead.providers.base import HttpProvider, client_for
from mead.providers.errors import Details, Finding, ProviderFault, reason_for_status
from mead.providers.http import Call
from mead.providers.locality import NOT_LOCAL, BootCheck, LocalGuard, reachable_url
from mead.providers.ndjson import read_lines
from mead.providers.ollama_cut import TRUNCATED, was_cut
from mead.providers.ollama_wire import Fold, chat_body, is_remote, is_whole, reply_from
from mead.providers.relay import TextRelay
from mead.providers.shape import Json, dumped, number_in, object_in, read_object, text_in

KNOWN_LOCAL_MS: Final = 60_000
"""How long /api/show is believed inside one tool loop; each turn begins by asking anew."""

BOOT_CHECK_MS: Final = 2000
"""The boot does not wait longer for a server that may be down or busy loading a model."""

_MAX_SHOW_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Told(Finding):
    """An error of Ollama's with the sentence for it; None is the usual one of its reason."""

    sentence: str | None = None


_TOLD: Final = (
    (r"does not support tools", _Told("tools_unsupported")),
    (
        r"does not support thinking|think value .* is not supported",
        _Told("invalid_request", "", "the model does not support what the option `think` asks for"),
    ),
    (
        r"context (length|size|window)|prompt is (too long|longer)|input length",
        _Told("context_too_long", "", "the conversation is longer than num_ctx allows"),
    ),
    (r"model .*not found", _Told("model_not_found")),
    (
        r"unauthorized",
        _Told("unauthorized", "", "Ollama refused the key, or is not signed in at ollama.com"),
    ),
    (r"server busy|maximum pending requests", _Told("overloaded")),
    (
        r"error parsing tool call",
        _Told("provider_error", "", "the model wrote a tool call that Ollama could not read"),
    ),
    (
        r"requires more system memory|out of memory",
        _Told("provider_error", "", "the machine has too little memory for the model"),
    ),
)
"""What to look for in an error's text, in this order: it has no type.  Source: Ollama's routes.go.
The text may quote the prompt or the model, so it is only looked at."""


class OllamaProvider(HttpProvider):
    """A model of an Ollama server.

    With a `guard` it is the slot `local`: each turn begins by making sure that the host is here and
    that the model is not one that Ollama hands on to another.
    """

    name = "ollama"

    def __init__(self, options: ProviderOptions, *, guard: LocalGuard | None = None) -> None:
        """Raises ConfigurationError."""
        headers: dict[str, str] = {}
        if options.api_key is not None:
            headers["Authorization"] = f"Bearer {options.api_key.reveal()}"
        base_url = reachable_url(options.base_url or DEFAULT_BASE_URLS["ollama"])
        resolve = None if guard is None else guard.address
        # `extra` goes over the whole body, so it may name another model.
        self._sent_model = str(options.extra.get("model", options.model))
        self._advice = f"; start Ollama (`ollama serve`), then `ollama pull {self._sent_model}`"
        client = client_for(base_url, options, headers, resolve, self._advice)
        super().__init__(options, client, guard)
        self._promises = guard is not None and not options.allow_remote
        self._known_local: tuple[str | None, float] = (None, 0.0)

    def boot_check(self, limit_ms: float = BOOT_CHECK_MS) -> BootCheck:
        """Whether the slot keeps its promise now.

        Blocks on: DNS, a connection and, for at most `limit_ms`, Ollama's answer.
        """
        if self._promises and has_remote_name(self._sent_model):
            return BootCheck(fault=_not_local(self._sent_model).message)
        reached = super().boot_check()
        if reached.warning is not None:
            return BootCheck(warning=reached.warning + self._advice)
        if self._guard is None or reached.fault is not None:
            return reached
        limit = time_limit(limit_ms)
        try:
            self._look_up()
        except ProviderFault as fault:
            return BootCheck(warning=fault.message)
        except TurnFailed as failed:
            return BootCheck(fault=failed.message)
        except Timeout as timeout:
            if timeout is not limit:
                raise
            return BootCheck(warning="Ollama does not say in time where the model runs")
        finally:
            limit.close()
        return BootCheck()

    # -- a call ------------------------------------------------------------------------------------

    def _ask(self, request: ModelRequest, relay: TextRelay) -> ModelReply:
        if self._promises:
            self._make_sure(request)
        body = chat_body(self._options, request)
        answer = self._post("/api/chat", body, relay)
        cut = was_cut(answer, body, len(dumped(body)))
        return reply_from(answer, (TRUNCATED,) if cut else ())

    def _post(self, path: str, body: Json, relay: TextRelay) -> Json:
        try:
            return super()._post(path, body, relay)
        except ProviderFault as fault:
            if fault.reason == "provider_timeout" and not relay.shown:
                raise self._silent() from None
            raise

    def _body(self, answer: Answer, relay: TextRelay) -> Json:
        if answer.status == 200 and "ndjson" in answer.content_type:
            relay.begin_block()
            return self._fold(answer, relay)
        return super()._body(answer, relay)

    def _fold(self, answer: Answer, relay: TextRelay) -> Json:
        fold = Fold()
        for data in read_lines(answer.chunks()):
            line = read_object(data)
            finding = self._find(answer, line)
            if finding is not None:
                raise self._fault(answer, finding)
            self._refuse_remote(line)
            relay.text(fold.add(line))
            if fold.done:
                break
        if not (fold.begun and fold.done):
            raise self._unfinished(answer)  # Ollama stops like this when a model repeats itself
        return fold.body()

    def _show(self, body: Json, relay: TextRelay) -> None:
        if not is_whole(body):
            raise ProviderFault(
                "bad_response",
                "the answer is no finished message of Ollama's chat; check base_url",
                details=Details(model=self.model),
            )
        self._refuse_remote(body)
        relay.text(text_in(object_in(body, "message"), "content"))

    def _find(self, answer: Answer, body: Json) -> Finding | None:
        if "error" not in body:
            return None
        text = text_in(body, "error") or text_in(object_in(body, "error"), "message")
        for pattern, told in _TOLD:
            if re.search(pattern, text):
                return told
        in_line = number_in(body, "status") or 500
        return _Told(reason_for_status(in_line if answer.status < 300 else answer.status))

    def _fault(
        self, answer: Answer, finding: Finding, sentence: str | None = None
    ) -> ProviderFault:
        if isinstance(finding, _Told):
            sentence = finding.sentence
            if finding.reason == "model_not_found":
                sentence = f"Ollama does not have the model; get it with `ollama pull {self.model}`"
        return super()._fault(answer, finding, sentence)

    def _silent(self) -> ProviderFault:
        waited = self._options.receive_timeout_ms
        return ProviderFault(
            "provider_timeout",
            f"Ollama said nothing for {waited} ms; it may still be loading the model {self.model}."
            " Raise receive_timeout_ms and runtime.turn_timeout_ms, and keep the model loaded"
            " with keep_alive",
        )

    # -- where the model runs ----------------------------------------------------------------------

    def _make_sure(self, request: ModelRequest) -> None:
        """Raises TurnFailed `not_local` unless the model runs where the guard says.

        The first call of a turn asks anew; the others of its tool loop believe that for a while.
        """
        if has_remote_name(self._sent_model):
            raise _not_local(self._sent_model)
        host, until = self._known_local
        if not request.rounds or host != self.host or time.monotonic() >= until:
            self._look_up()

    def _look_up(self) -> None:
        """Ask /api/show.  Raises TurnFailed, ProviderFault.  Blocks on: network."""
        body = dumped({"model": self._sent_model})
        call = Call("POST", "/api/show", body, {"Content-Type": "application/json"})
        self._client.run(call, self._read_show)
        self._known_local = (self.host, time.monotonic() + KNOWN_LOCAL_MS / 1000)

    def _read_show(self, answer: Answer) -> None:
        if answer.status != 200:
            raise self._refusal(answer)
        self._refuse_remote(read_object(answer.body(_MAX_SHOW_BYTES)))

    def _refuse_remote(self, shape: Json) -> None:
        """An answer may also show it, when the model was replaced between question and answer."""
        if self._promises and is_remote(shape):
            raise _not_local(self._sent_model)


def has_remote_name(model: str) -> bool:
    """Whether the name alone says that Ollama hands the model's prompts to its cloud."""
    return model.strip().casefold().endswith((":cloud", "-cloud"))


def _not_local(model: str) -> TurnFailed:
    return TurnFailed(
        NOT_LOCAL,
        f"the slot local must not hand prompts on, and Ollama runs the model {model} on another"
        " host. Use a model that is on this machine, the slot cloud, or set allow_remote = true",
    )
