"""The body of a chat/completions request, from what a model call depends on.  Pure."""

from typing import Final, cast
from urllib.parse import urlsplit

from mead.config.settings import DEFAULT_BASE_URLS, ProviderOptions
from mead.protocols import ModelReply, ModelRequest, Tool, ToolRequest, ToolRound
from mead.providers.shape import Json, dumped, merged

_OWN_HOST: Final = urlsplit(DEFAULT_BASE_URLS["openai"]).hostname
"""OpenAI's newer models refuse `max_tokens`; most other servers know only that."""


def request_body(options: ProviderOptions, base_url: str, request: ModelRequest) -> Json:
    """The body that asks for a stream with its usage."""
    own = urlsplit(base_url).hostname == _OWN_HOST
    body: Json = {
        "model": options.model,
        "max_completion_tokens" if own else "max_tokens": options.max_tokens,
        "messages": _messages(options.system, request),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if options.temperature is not None:
        body["temperature"] = options.temperature
    return merged(body, options.extra)


def _messages(system: str | None, request: ModelRequest) -> list[Json]:
    """The conversation.  An exchange that is blank on either side is left out whole.

    Many chat templates insist that user and assistant take turns.
    """
    messages: list[Json] = []
    if system is not None and system.strip():
        messages.append({"role": "system", "content": system})
    for exchange in request.history:
        if exchange.prompt.strip() and exchange.answer.strip():
            messages.append({"role": "user", "content": exchange.prompt})
            messages.append({"role": "assistant", "content": exchange.answer})
    messages.append({"role": "user", "content": request.prompt})
    for one in request.rounds:
        messages += _round(one)
    return messages


def _round(one: ToolRound) -> list[Json]:
    results: list[Json] = [
        {"role": "tool", "tool_call_id": answer.id, "content": answer.text}
        for answer in one.answers
    ]
    return [_assistant(one.reply), *results]


def _assistant(reply: ModelReply) -> Json:
    """The answer as it came, reasoning included; made anew when it has none."""
    echo = cast(object, reply.echo)
    if isinstance(echo, dict):
        return cast(Json, echo)
    return {
        "role": "assistant",
        "content": reply.text,
        "tool_calls": [call_of(one) for one in reply.tool_requests],
    }


def call_of(one: ToolRequest) -> Json:
    """A tool call as the API writes it: the arguments are JSON inside a text."""
    arguments = dumped(dict(one.arguments)).decode()
    return {
        "id": one.id,
        "type": "function",
        "function": {"name": one.name, "arguments": arguments},
    }


def _tool(tool: Tool) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
    }
    return {"type": "function", "function": function}
