"""Anthropic's Messages API, or a server that speaks it (llama.cpp's /v1/messages)."""

from collections.abc import Mapping
from typing import Final

from mead.config.settings import DEFAULT_BASE_URLS, ProviderOptions
from mead.protocols import ModelReply, ModelRequest
from mead.providers.answer import Answer
from mead.providers.anthropic_answer import (
    MessageFold,
    echo_of,
    joined,
    read_message,
    show_message,
)
from mead.providers.anthropic_request import continued, request_body
from mead.providers.base import HttpProvider, client_for
from mead.providers.errors import Details, Finding, ProviderFault, reason_for_status
from mead.providers.locality import LocalGuard
from mead.providers.relay import TextRelay
from mead.providers.shape import Json, object_in, read_object, text_in
from mead.providers.sse import read_events

API_VERSION: Final = "2023-06-01"
"""The newer 2026-10-21 refuses what some models still take, and adds nothing that is used here."""
_MAX_CONTINUATIONS: Final = 5
"""How often an answer that the API paused is asked to go on."""

_REASONS: Final[Mapping[str, str]] = {
    "authentication_error": "unauthorized",
    "permission_error": "unauthorized",
    "billing_error": "spend_limit",
    "not_found_error": "model_not_found",
    "request_too_large": "context_too_long",
    "exceed_context_size_error": "context_too_long",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "api_error": "provider_error",
    "timeout_error": "provider_timeout",
    "invalid_request_error": "invalid_request",
}
"""Error type -> reason; `exceed_context_size_error` is llama.cpp's."""
_SPEND_LIMIT: Final = "You have reached your specified API usage limits"
"""How the message of one's own spend limit begins; it has no type of its own."""
_SPEND_CODES: Final = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached"})
_TOO_LONG: Final = ("prompt is too long", "exceed context limit")


class AnthropicProvider(HttpProvider):
    """A Claude model.  Source: PROVIDERS section 1."""

    name = "anthropic"

    def __init__(self, options: ProviderOptions, *, guard: LocalGuard | None = None) -> None:
        """Raises ConfigurationError."""
        headers = {"anthropic-version": API_VERSION}
        if options.api_key is not None:
            headers["x-api-key"] = options.api_key.reveal()
        base_url = options.base_url or DEFAULT_BASE_URLS["anthropic"]
        resolve = None if guard is None else guard.address
        super().__init__(options, client_for(base_url, options, headers, resolve), guard)

    def _ask(self, request: ModelRequest, relay: TextRelay) -> ModelReply:
        body = request_body(self._options, request)
        message = self._post("/v1/messages", body, relay)
        for _ in range(_MAX_CONTINUATIONS):
            if message.get("stop_reason") != "pause_turn":
                return read_message(message, Details(model=self.model))
            going_on = continued(body, echo_of(message))
            message = joined(message, self._post("/v1/messages", going_on, relay))
        raise ProviderFault("provider_error", "the provider paused its answer too often")

    def _fold(self, answer: Answer, relay: TextRelay) -> Json:
        fold = MessageFold(relay)
        for event in read_events(answer.chunks()):
            if event.data.isspace() or not event.data:
                continue
            data = read_object(event.data)
            kind = data.get("type")
            if kind == "error" or event.event == "error":
                raise self._fault(answer, _stream_error(data))
            fold.add(data)
            if kind == "message_stop":
                return fold.body()
        raise self._unfinished(answer)

    def _show(self, body: Json, relay: TextRelay) -> None:
        show_message(body, relay)

    def _find(self, answer: Answer, body: Json) -> Finding | None:
        """Source: PROVIDERS section 1.8."""
        error = object_in(body, "error")
        if not error:
            return None
        kind = text_in(error, "type")
        reason = _REASONS.get(kind) or reason_for_status(answer.status)
        message = text_in(error, "message")
        if _is_spend_limit(answer, error, reason):
            reason = "spend_limit"
        elif reason == "invalid_request" and any(words in message for words in _TOO_LONG):
            reason = "context_too_long"
        return Finding(reason, kind)


def _stream_error(data: Json) -> Finding:
    """An error inside an answer whose status was 200; llama.cpp sends it without a frame."""
    kind = text_in(object_in(data, "error") or data, "type")
    return Finding(_REASONS.get(kind, "provider_error"), kind)


def _is_spend_limit(answer: Answer, error: Json, reason: str) -> bool:
    """Whether waiting is of no use: the API tells how long to wait for every other limit."""
    if text_in(error, "message").startswith(_SPEND_LIMIT):
        return True
    if text_in(object_in(error, "details"), "error_code") in _SPEND_CODES:
        return True
    return reason == "rate_limited" and answer.retry_after_ms is None
