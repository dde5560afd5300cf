"""Any server that speaks OpenAI's chat/completions: vLLM, llama.cpp, LM Studio, OpenRouter."""

from collections.abc import Mapping
from typing import Final

from mead.config.settings import DEFAULT_BASE_URLS, ProviderOptions
from mead.protocols import ModelReply, ModelRequest
from mead.providers.answer import Answer
from mead.providers.base import HttpProvider, client_for
from mead.providers.errors import Details, Finding, reason_for_status
from mead.providers.locality import LocalGuard
from mead.providers.openai_answer import ChatFold, content_of, read_completion
from mead.providers.openai_request import request_body
from mead.providers.relay import TextRelay
from mead.providers.shape import Json, number_in, object_in, objects_in, read_object, text_in
from mead.providers.sse import read_events

_END: Final = "[DONE]"
"""What every one of these servers sends last.  A finish reason alone ends nothing: the connection
may break before the usage, and a cut answer without one would look whole."""

_REASONS: Final[Mapping[str, str]] = {
    "invalid_api_key": "unauthorized",
    "authentication_error": "unauthorized",
    "permission_error": "unauthorized",
    "insufficient_quota": "spend_limit",
    "billing_hard_limit_reached": "spend_limit",
    "billing_not_active": "spend_limit",
    "context_length_exceeded": "context_too_long",
    "exceed_context_size_error": "context_too_long",
    "model_not_found": "model_not_found",
    "not_found_error": "model_not_found",
    "content_filter": "refused",
    "content_policy_violation": "refused",
    "rate_limit_exceeded": "rate_limited",
    "invalid_request_error": "invalid_request",
    "unavailable_error": "provider_unavailable",
    "server_error": "provider_error",
}
"""Code or type of an error -> reason; the code, where there is one, is the more exact."""
_TOO_LONG: Final = ("maximum context length", "context length exceeded", "context window")
_NO_TOOLS: Final = (
    "support tool",
    "tools param requires",
    "requires --enable-auto-tool-choice",
    "not support function",
)
"""What OpenRouter, llama.cpp, vLLM and others say of a model without tools."""


class OpenAiProvider(HttpProvider):
    """A model behind chat/completions.  Source: PROVIDERS section 3."""

    name = "openai"

    def __init__(self, options: ProviderOptions, *, guard: LocalGuard | None = None) -> None:
        """Raises ConfigurationError."""
        headers: dict[str, str] = {}
        if options.api_key is not None:
            headers["Authorization"] = f"Bearer {options.api_key.reveal()}"
        self._base_url = options.base_url or DEFAULT_BASE_URLS["openai"]
        resolve = None if guard is None else guard.address
        super().__init__(options, client_for(self._base_url, options, headers, resolve), guard)

    def _ask(self, request: ModelRequest, relay: TextRelay) -> ModelReply:
        body = request_body(self._options, self._base_url, request)
        completion = self._post("/chat/completions", body, relay)
        return read_completion(completion, Details(model=self.model), len(request.rounds))

    def _fold(self, answer: Answer, relay: TextRelay) -> Json:
        fold = ChatFold(relay)
        for event in read_events(answer.chunks()):
            data = event.data
            if data[:1] != "{":
                data = data.strip()
                if data == _END:
                    return fold.body()
                if not data:
                    continue
            chunk = read_object(data)
            if "error" in chunk or "choices" not in chunk:
                self._raise_found(answer, chunk)
            fold.add(chunk)
        raise self._unfinished(answer)

    def _raise_found(self, answer: Answer, chunk: Json) -> None:
        finding = self._find(answer, chunk)
        if finding is not None:
            raise self._fault(answer, finding)

    def _show(self, body: Json, relay: TextRelay) -> None:
        for choice in objects_in(body, "choices")[:1]:
            relay.text(content_of(object_in(choice, "message")))

    def _find(self, answer: Answer, body: Json) -> Finding | None:
        """Servers put an object, a text or, like vLLM once, the whole body there."""
        if body.get("error") is None and body.get("object") != "error":
            return None
        error = object_in(body, "error") or body
        code, kind = text_in(error, "code"), text_in(error, "type")
        message = text_in(error, "message") or text_in(body, "error")
        known = _REASONS.get(code) or _REASONS.get(kind)
        status = answer.status if answer.status >= 400 else (number_in(error, "code") or 0)
        reason = _by_words(message) or known or reason_for_status(status)
        return Finding(reason, code or kind)


def _by_words(message: str) -> str | None:
    """What only the wording tells; the words are looked at and never shown."""
    lowered = message.lower()
    if any(words in lowered for words in _TOO_LONG):
        return "context_too_long"
    if any(words in lowered for words in _NO_TOOLS):
        return "tools_unsupported"
    return None
