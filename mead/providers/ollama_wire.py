"""Ollama's /api/chat in both directions: a request as its body, an answer as a ModelReply.  Pure.

Theory of operation.  `Fold` takes the lines of a stream one by one and ends up with the body that a
plain call would have returned; `reply_from` reads a body, wherever it came from.
Source: PROVIDERS.md section 2, Ollama's api/types.go.
"""

import uuid
from typing import Final

from mead.config.settings import ProviderOptions
from mead.protocols import ModelReply, ModelRequest, Tool, ToolRequest, ToolRound
from mead.providers.allowance import Allowance
from mead.providers.relay import worded
from mead.providers.shape import (
    Json,
    as_object,
    checked_arguments,
    merged,
    object_in,
    objects_in,
    read_arguments,
    text_in,
    tokens_in,
)
from mead.turn import Usage

DEFAULT_NUM_CTX: Final = 8192
"""Always sent: Ollama's own default depends on video memory and cuts longer prompts silently."""

# -- the request -----------------------------------------------------------------------------------


def chat_body(options: ProviderOptions, request: ModelRequest) -> Json:
    """The body of the request, `extra` merged over it."""
    body: Json = {
        "model": options.model,
        "messages": _messages(options.system, request),
        "stream": True,
        "options": {
            "num_ctx": options.num_ctx or DEFAULT_NUM_CTX,
            "num_predict": options.max_tokens,
        },
    }
    if options.temperature is not None:
        body["options"]["temperature"] = options.temperature
    if options.keep_alive is not None:
        body["keep_alive"] = options.keep_alive
    if options.think is not None:
        body["think"] = options.think
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return merged(body, options.extra)


def _messages(system: str | None, request: ModelRequest) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": system}] if system else []
    for exchange in request.history:
        messages.append({"role": "user", "content": exchange.prompt})
        messages.append({"role": "assistant", "content": exchange.answer})
    messages.append({"role": "user", "content": request.prompt})
    for each in request.rounds:
        messages += _round(each)
    return messages


def _round(each: ToolRound) -> list[Json]:
    """The model's message as it came, thinking included, then one message for each result."""
    results: list[Json] = [
        {
            "role": "tool",
            "content": answer.text,
            "tool_name": answer.name,
            "tool_call_id": answer.id,
        }
        for answer in each.answers
    ]
    return [as_object(each.reply.echo), *results]


def _tool(tool: Tool) -> Json:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.schema),
        },
    }


# -- the answer ------------------------------------------------------------------------------------


class Fold:
    """Lines become one body."""

    def __init__(self) -> None:
        self.done = False
        """Whether the line came that ends the answer."""
        self.begun = False
        """Whether any line was a part of a message."""
        self._allowance = Allowance()
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Json] = []
        self._last: Json = {}

    def add(self, line: Json) -> str:
        """Take the next line; the text that it adds to the answer, often none.

        Raises ProviderFault.
        """
        message = object_in(line, "message")
        self.begun = self.begun or isinstance(line.get("message"), dict)
        content = text_in(message, "content")
        thinking = text_in(message, "thinking")
        calls = objects_in(message, "tool_calls")
        self._allowance.take(len(content) + len(thinking))
        if calls:
            self._allowance.take_value(calls)
        self._content.append(content)
        self._thinking.append(thinking)
        self._calls += calls
        if line.get("done") is True:
            self.done = True
            self._last = line
        return content

    def body(self) -> Json:
        """What a plain call would have returned."""
        message: Json = {"role": "assistant", "content": "".join(self._content)}
        thinking = "".join(self._thinking)
        if thinking:
            message["thinking"] = thinking
        if self._calls:
            message["tool_calls"] = self._calls
        return {**self._last, "message": message}


def is_whole(body: Json) -> bool:
    """Whether it is a chat's answer, and all of it; other services answer with objects too."""
    return isinstance(body.get("message"), dict) and body.get("done") is True


def is_remote(shape: Json) -> bool:
    """Whether an answer of /api/show, or a line of a chat, names a host that runs the model."""
    return bool(shape.get("remote_host") or shape.get("remote_model"))


def reply_from(body: Json, warnings: tuple[str, ...] = ()) -> ModelReply:
    """The reply that a body holds."""
    message = object_in(body, "message")
    # The ids are ours where the model gave none: the results refer to them, so the echo has them.
    calls = _with_ids(objects_in(message, "tool_calls"))
    # A call before the cut may be whole, but nothing says that it is all the model wanted.
    cut = body.get("done_reason") == "length"
    requests = () if cut else tuple(_request(call) for call in calls)
    return ModelReply(
        text=worded(text_in(message, "content")),
        stop_reason=_stop_reason(body, cut=cut, wants_tools=bool(requests)),
        tool_requests=requests,
        usage=_usage(body),
        warnings=warnings,
        echo={**message, "tool_calls": calls} if calls else message,
    )


def _stop_reason(body: Json, *, cut: bool, wants_tools: bool) -> str:
    if cut:
        return "max_tokens"
    if wants_tools:
        return "tool_use"
    reason = text_in(body, "done_reason")
    return "end_turn" if reason in {"", "stop"} else reason


def _usage(body: Json) -> Usage:
    """Zero values are left out of the wire, and older versions leave out more: unknown, not 0.

    `input` is what no cache had, as with the other providers; newer versions count the rest.
    """
    prompt = tokens_in(body, "prompt_eval_count")
    cached = tokens_in(body, "prompt_eval_cached_count")
    return Usage(
        input=None if prompt is None else max(0, prompt - (cached or 0)),
        output=tokens_in(body, "eval_count"),
        cache_read=cached,
    )


def _with_ids(calls: list[Json]) -> list[Json]:
    """The calls, each with an id of its own: some versions send none, or the same for all."""
    seen: set[str] = set()
    named: list[Json] = []
    for call in calls:
        id_ = text_in(call, "id")
        if not id_ or id_ in seen:
            id_ = f"call_{uuid.uuid4().hex[:8]}"
        seen.add(id_)
        named.append({**call, "id": id_})
    return named


def _request(call: Json) -> ToolRequest:
    function = object_in(call, "function")
    arguments, fault = _arguments(function.get("arguments"))
    return ToolRequest(
        id=call["id"], name=text_in(function, "name"), arguments=arguments, fault=fault
    )


def _arguments(value: object) -> tuple[Json, str | None]:
    """An object; a text where a server writes them as OpenAI does; nothing for no arguments."""
    if isinstance(value, str):
        return read_arguments(value)
    return checked_arguments({} if value is None else value)
