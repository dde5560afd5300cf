"""What a model is told when a tool fails: the code of the error, and a fixed sentence.

The sentence is never the error's own: that one may have come from a provider, or name a file.
Source: seed A7 ("a fixed message, never a stack trace or provider text").
"""

from collections.abc import Mapping
from typing import Final

from mead.errors import InvalidInput, MeadError, TurnFailed
from mead.mcp.server.tool import ToolFault

_REASONS: Final[Mapping[str, str]] = {
    "local_unavailable": "no local model is configured",
    "cloud_unavailable": "no cloud model is configured",
    "not_local": "the local slot leads to another network, so nothing was sent",
    "tool_loop_limit": "the model asked for tools too many times",
    "tools_unsupported": "the model of this route cannot use tools",
    "unauthorized": "the model's service refused the configured key",
    "rate_limited": "the model's service takes no more requests for now; try again later",
    "overloaded": "the model's service is overloaded; try again later",
    "spend_limit": "the spending limit at the model's service is reached",
    "invalid_request": "the model's service refused the request",
    "context_too_long": "the conversation is longer than the model can read; start a new session",
    "model_not_found": "the configured model does not exist at its service",
    "provider_unavailable": "the model's service could not be reached",
    "provider_timeout": "the model's service did not answer in time",
    "provider_error": "the model's service failed",
    "bad_response": "the model's service sent an answer that could not be read",
    "refused": "the model refused to answer",
    "handler_crashed": "the turn handler crashed",
    "bad_output": "the turn handler returned something that is not text",
}
"""The reasons of SPEC sections 3 and 5."""


def tool_fault(error: MeadError) -> ToolFault:
    """The fault to show for an error of the runtime."""
    if isinstance(error, InvalidInput):  # written by Mead itself, about an argument
        return ToolFault(f"{error.code}: {error.message}")
    if isinstance(error, TurnFailed):
        sentence = _REASONS.get(error.reason)
        if sentence is None:  # a reason of somebody's own handler, which may be any text
            return ToolFault(f"{error.code}: {TurnFailed.default_message}")
        return ToolFault(f"{error.code} ({error.reason}): {sentence}")
    return ToolFault(f"{error.code}: {type(error).default_message}")
