"""How a model call fails: a reason of SPEC section 5, a fixed sentence, and whether to try again.

A message is put together from sentences written here, the status code, the provider's error type,
the model's name and the request id.  Text that a provider sent is never part of it: it may quote
the prompt or the key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from mead.errors import TurnFailed
from mead.turn import utc_now

_ERROR_TYPE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""What an error type looks like with every provider; anything else could be a quotation."""

_RETRIED_STATUSES: Final = frozenset({429, 500, 502, 503, 504, 529})
_PASSING_REASONS: Final = frozenset(
    {"rate_limited", "overloaded", "provider_unavailable", "provider_timeout", "provider_error"}
)

SENTENCES: Final[Mapping[str, str]] = {
    "unauthorized": "the provider refused the key; check api_key",
    "rate_limited": "the provider limits how often it may be asked; try again later",
    "overloaded": "the provider is overloaded; try again later",
    "spend_limit": "the account's spend limit at the provider is reached",
    "invalid_request": "the provider refused the request as not valid",
    "context_too_long": "the conversation is longer than the model can take",
    "model_not_found": "the provider does not know the model; check model and base_url",
    "provider_unavailable": "the provider is not available",
    "provider_timeout": "the provider took too long to answer",
    "provider_error": "the provider failed",
    "bad_response": "the provider's answer could not be understood",
    "refused": "the model refused to answer this prompt",
    "tools_unsupported": "the model does not support tools",
}

_REASONS: Final[Mapping[int, str]] = {
    400: "invalid_request",
    401: "unauthorized",
    402: "spend_limit",
    403: "unauthorized",
    404: "model_not_found",
    408: "provider_timeout",
    409: "provider_error",
    413: "context_too_long",
    422: "invalid_request",
    429: "rate_limited",
    500: "provider_error",
    502: "provider_unavailable",
    503: "provider_unavailable",
    504: "provider_timeout",
    529: "overloaded",
}


class ProviderFault(TurnFailed):
    """A model call failed.  Outside the providers it is a TurnFailed like any other."""

    def __init__(
        self,
        reason: str,
        sentence: str | None = None,
        *,
        details: "Details | None" = None,
        retryable: bool = False,
        retry_after_ms: float | None = None,
    ) -> None:
        """`sentence` must be written by us: it is shown and logged as it is."""
        text = SENTENCES[reason] if sentence is None else sentence
        known = "" if details is None else details.text()
        super().__init__(reason, f"{text} ({known})" if known else text)
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The facts that a message may name."""

    model: str | None = None
    status: int | None = None
    error_type: str | None = None
    """As the provider sent it; shown only if it looks like an error type."""
    request_id: str | None = None

    def text(self) -> str:
        parts: list[str] = []
        if self.status is not None:
            parts.append(f"HTTP {self.status}")
        if self.error_type is not None and _ERROR_TYPE.fullmatch(self.error_type):
            parts.append(self.error_type)
        if self.model is not None:
            parts.append(f"model {self.model}")
        if self.request_id is not None:
            parts.append(f"request {self.request_id}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Finding:
    """What an error object of a provider says, in our words."""

    reason: str
    error_type: str = ""
    """As the provider sent it."""


def is_passing(status: int, reason: str) -> bool:
    """Whether the same request may succeed a moment later.

    A good status means an error inside an answer that had begun well.
    """
    told = 200 <= status < 300 or status in _RETRIED_STATUSES
    return told and reason in _PASSING_REASONS


def reason_for_status(status: int) -> str:
    """The reason that a status alone tells; redirects are never followed and are errors."""
    known = _REASONS.get(status)
    if known is not None:
        return known
    return "invalid_request" if 400 <= status < 500 else "provider_error"


def retry_after_ms(headers: Mapping[str, str]) -> float | None:
    """What `retry-after-ms` or `retry-after` (seconds or a date) ask for; None without either."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return exact
    asked = headers.get("retry-after")
    seconds = _number(asked)
    if seconds is not None:
        return seconds * 1000
    return None if asked is None else _until(asked)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e9 else None


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return max(0.0, (moment - utc_now()).total_seconds() * 1000)
    except (TypeError, ValueError):
        return None
