"""The body of a Messages API request, from what a model call depends on.  Pure.

What the API refuses is left out: text of white space alone, a text that ends in white space before
it is answered, a tool call without its result in the very next message.  A conversation only grows
at its end, so that the thinking blocks of a tool loop stay valid.
"""

from collections.abc import Iterable, Sequence
from typing import Final, cast

from mead.config.settings import ProviderOptions
from mead.protocols import Exchange, ModelReply, ModelRequest, Tool, ToolAnswer, ToolRound
from mead.providers.errors import ProviderFault
from mead.providers.shape import Json, merged, text_in

_NOT_RUN: Final = "the call was not run"
"""The result of a call that nobody answered: the API wants one for each."""


def request_body(options: ProviderOptions, request: ModelRequest) -> Json:
    """The body that asks for a stream.  Raises ProviderFault `invalid_request` (blank prompt)."""
    if not request.prompt.strip():
        raise ProviderFault("invalid_request", "the prompt is blank, and the provider refuses that")
    body: Json = {
        "model": options.model,
        "max_tokens": options.max_tokens,
        "messages": _messages(request),
        "stream": True,
    }
    if options.system is not None and options.system.strip():
        body["system"] = options.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.effort is not None:
        body["output_config"] = {"effort": options.effort}
    if options.cache is not None:
        body["cache_control"] = {"type": "ephemeral", "ttl": options.cache}
    return merged(body, options.extra)


def continued(body: Json, content: Sequence[Json]) -> Json:
    """The request again with the paused answer behind it, as the API asks for."""
    paused = {"role": "assistant", "content": list(content)}
    return {**body, "messages": [*body["messages"], paused]}


def sendable(content: Iterable[Json]) -> list[Json]:
    """The blocks of an answer that the API takes back: all but text of white space alone."""
    return [one for one in content if one.get("type") != "text" or text_in(one, "text").strip()]


def _messages(request: ModelRequest) -> list[Json]:
    messages: list[Json] = []
    for exchange in request.history:
        messages += _exchange(exchange)
    messages.append({"role": "user", "content": request.prompt})
    for one in request.rounds:
        messages += _round(one)
    return messages


def _exchange(exchange: Exchange) -> list[Json]:
    """An earlier prompt and its answer; one that is blank on either side is left out whole."""
    answer = exchange.answer.rstrip()
    if not exchange.prompt.strip() or not answer:
        return []
    return [
        {"role": "user", "content": exchange.prompt},
        {"role": "assistant", "content": answer},
    ]


def _round(one: ToolRound) -> list[Json]:
    content = _content(one.reply)
    given = {answer.id: answer for answer in one.answers}
    asked = [text_in(block, "id") for block in content if block.get("type") == "tool_use"]
    results = [_result(call_id, given.get(call_id)) for call_id in asked]
    return [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


def _content(reply: ModelReply) -> list[Json]:
    """The answer's blocks as they came, thinking included; made anew when it has none."""
    echo = cast(object, reply.echo)
    if isinstance(echo, list):
        return sendable(cast(list[Json], echo))
    calls = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": dict(one.arguments)}
        for one in reply.tool_requests
    ]
    return sendable([{"type": "text", "text": reply.text}, *calls])


def _result(call_id: str, answer: ToolAnswer | None) -> Json:
    result: Json = {"type": "tool_result", "tool_use_id": call_id}
    text = _NOT_RUN if answer is None else answer.text
    if text.strip():
        result["content"] = text
    if answer is None or answer.is_error:
        result["is_error"] = True
    return result


def _tool(tool: Tool) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }
