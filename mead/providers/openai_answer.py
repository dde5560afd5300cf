"""The answer of a chat/completions server: a stream folds into the body of a plain call.

Source: PROVIDERS section 3.
"""

from typing import Final, cast

from mead.protocols import ModelReply, ToolRequest
from mead.providers.allowance import Allowance
from mead.providers.errors import Details, ProviderFault
from mead.providers.openai_calls import CallFold
from mead.providers.openai_request import call_of
from mead.providers.relay import TextRelay, worded
from mead.providers.shape import (
    Json,
    dumped,
    object_in,
    objects_in,
    read_arguments,
    text_in,
    tokens_in,
)
from mead.turn import Usage

_REASONING: Final = ("reasoning_content", "reasoning")
"""llama.cpp and DeepSeek; newer vLLM and OpenRouter.  It goes back under the name it came with."""
_WEIGHTY: Final = ("length", "content_filter", "tool_calls", "function_call")
"""Of several finish reasons the first of these counts, else the last that was sent."""
_STOP_REASONS: Final = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}


class ChatFold:
    """A streamed completion as it grows.  `add` takes each chunk in turn."""

    def __init__(self, relay: TextRelay) -> None:
        self._relay = relay
        self._frame: Json = {}
        self._content: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._reasoning_details: list[Json] = []
        self._refusal: list[str] = []
        self._allowance = Allowance()
        self._calls = CallFold(self._allowance)
        self._finished: list[str] = []
        self._begun = False

    def add(self, chunk: Json) -> None:
        """The next chunk.  One without choices (usage, keep-alive) is nothing wrong."""
        if chunk.get("usage"):
            self._frame["usage"] = object_in(chunk, "usage")
        for choice in objects_in(chunk, "choices"):
            if not choice.get("index"):
                self._choice(choice)

    def body(self) -> Json:
        """The completion as a plain call returns it; without choices when no delta was streamed."""
        if not self._begun:
            return {**self._frame, "choices": []}
        message: Json = {"role": "assistant", "content": "".join(self._content)}
        for name, pieces in self._reasoning.items():
            message[name] = "".join(pieces)
        if self._reasoning_details:
            message["reasoning_details"] = self._reasoning_details
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        calls = self._calls.body()
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason()}
        return {**self._frame, "choices": [choice]}

    def _choice(self, choice: Json) -> None:
        delta: Json | None = choice.get("delta")
        if isinstance(delta, dict):
            self._begun = True
            for name, value in delta.items():
                if name == "content" and isinstance(value, str):
                    self._allowance.take(len(value))
                    self._content.append(value)
                    self._relay.text(value)
                elif value:
                    self._take(name, value, delta)
        if choice.get("finish_reason"):
            finished = text_in(choice, "finish_reason")
            self._allowance.take(len(finished))
            self._finished.append(finished)

    def _take(self, name: str, value: object, delta: Json) -> None:
        """A field of a delta that is not plain text."""
        if name == "content":
            content = content_of(delta)
            self._allowance.take(len(content))
            self._content.append(content)
            self._relay.text(content)
        elif name in _REASONING and isinstance(value, str):
            self._allowance.take(len(value))
            self._reasoning.setdefault(name, []).append(value)
        elif name == "refusal":
            refusal = text_in(delta, name)
            self._allowance.take(len(refusal))
            self._refusal.append(refusal)
        elif name == "tool_calls":
            for piece in objects_in(delta, name):
                self._calls.add(piece)
        elif name == "reasoning_details":
            self._allowance.take_value(value)
            self._reasoning_details += objects_in(delta, name)

    def _finish_reason(self) -> str | None:
        for reason in _WEIGHTY:
            if reason in self._finished:
                return reason
        return self._finished[-1] if self._finished else None


def read_completion(body: Json, details: Details, round_number: int = 0) -> ModelReply:
    """The answer in a completion body; `round_number` goes into ids that the server left out.

    Raises ProviderFault `bad_response`, `refused`.
    """
    choices = objects_in(body, "choices")
    if not choices or not isinstance(choices[0].get("message"), dict):
        raise ProviderFault("bad_response", "the answer holds no message", details=details)
    message = object_in(choices[0], "message")
    content = worded(content_of(message))
    finished = text_in(choices[0], "finish_reason")
    if finished == "content_filter" or (text_in(message, "refusal") and not content):
        raise ProviderFault("refused", details=details)
    calls = () if finished == "length" else _calls(message, round_number)
    return ModelReply(
        text=content,
        stop_reason=_stop_reason(finished, calls),
        tool_requests=calls,
        usage=read_usage(object_in(body, "usage")),
        echo=_echo(message, content, calls),
    )


def read_usage(usage: Json) -> Usage | None:
    """The tokens of one answer; `input` is what no cache had.  None when nothing was said."""
    prompt = tokens_in(usage, "prompt_tokens")
    cached = tokens_in(object_in(usage, "prompt_tokens_details"), "cached_tokens")
    found = Usage(
        input=None if prompt is None else max(0, prompt - (cached or 0)),
        output=tokens_in(usage, "completion_tokens"),
        cache_read=cached,
    )
    return None if found == Usage() else found


def content_of(message: Json) -> str:
    """The text of a message or delta, whose content may be null or a list of parts."""
    parts = [text_in(part, "text") for part in objects_in(message, "content")]
    return "".join(parts) if parts else text_in(message, "content")


def _stop_reason(finished: str, calls: tuple[ToolRequest, ...]) -> str:
    """Our word; servers that forget to say `tool_calls`, or anything, are helped out."""
    if calls and finished in ("", "stop"):
        return "tool_use"
    return _STOP_REASONS.get(finished or "stop", finished)


def _calls(message: Json, round_number: int) -> tuple[ToolRequest, ...]:
    calls = objects_in(message, "tool_calls")
    return tuple(_call(one, f"call_{round_number}_{n}") for n, one in enumerate(calls))


def _call(call: Json, own_id: str) -> ToolRequest:
    function = object_in(call, "function")
    written: object = function.get("arguments")
    if isinstance(written, dict):
        written = dumped(cast(Json, written)).decode()
    arguments, fault = read_arguments(written if isinstance(written, str) else "")
    return ToolRequest(
        id=text_in(call, "id") or own_id,
        name=text_in(function, "name"),
        arguments=arguments,
        fault=fault,
    )


def _echo(message: Json, content: str, calls: tuple[ToolRequest, ...]) -> Json:
    """The message as it goes back: reasoning as it came, calls with ids and readable arguments."""
    echo: Json = {"role": "assistant", "content": content}
    for name in (*_REASONING, "reasoning_details"):
        if message.get(name):
            echo[name] = message[name]
    if calls:
        echo["tool_calls"] = [call_of(one) for one in calls]
    return echo
