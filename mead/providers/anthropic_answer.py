"""The answer of a Messages API: a stream folds into the body of a plain call, one reader for both.

Events are known by the `type` inside their data (a proxy may damage the event's name), and types
that are not known are skipped, as the API asks for.  Source: PROVIDERS section 1.3 to 1.7.
"""

from collections.abc import Iterable
from typing import Final, cast

from mead.protocols import ModelReply, ToolRequest
from mead.providers.allowance import Allowance
from mead.providers.anthropic_request import sendable
from mead.providers.errors import Details, ProviderFault
from mead.providers.relay import TextRelay, worded
from mead.providers.shape import (
    Json,
    checked_arguments,
    number_in,
    object_in,
    objects_in,
    read_arguments,
    text_in,
    tokens_in,
)
from mead.turn import Usage

_ASKING: Final = frozenset({"tool_use", "end_turn"})
"""Where tool calls are whole (llama.cpp has been seen to end a turn with one)."""
_PIECES: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""Delta type -> the field that holds the next piece of the block."""


class MessageFold:
    """A streamed message as it grows.  `add` takes the data of each event in turn."""

    def __init__(self, relay: TextRelay) -> None:
        self._relay = relay
        self._allowance = Allowance()
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._pieces: dict[int, list[str]] = {}

    def add(self, data: Json) -> None:
        """The next event.  Raises ProviderFault `bad_response` for a delta of no block."""
        kind = data.get("type")
        if kind == "content_block_delta":
            self._delta(_index(data), object_in(data, "delta"))
        elif kind == "content_block_start":
            self._start(_index(data), object_in(data, "content_block"))
        elif kind == "content_block_stop":
            self._close(_index(data))
        elif kind == "message_delta":
            self._allowance.take_value(data)
            self._message.update(object_in(data, "delta"))
            self._count(data)
        elif kind == "message_start":
            self._begin(object_in(data, "message"))

    def body(self) -> Json:
        """The message as a plain call returns it."""
        for index in list(self._pieces):
            self._close(index)
        content = [block for _, block in sorted(self._blocks.items())]
        return {"type": "message", **self._message, "content": content}

    def _begin(self, message: Json) -> None:
        """The message's frame; blocks that it holds already get no events of their own."""
        self._allowance.take_value(message)
        self._message = dict(message)
        for index, block in enumerate(objects_in(message, "content")):
            self._start(index, block)
            self._close(index)

    def _start(self, index: int, block: Json) -> None:
        self._allowance.take_value(block)
        self._blocks[index] = dict(block)
        self._pieces[index] = []
        if block.get("type") == "text":
            self._relay.begin_block()
            self._relay.text(text_in(block, "text"))

    def _delta(self, index: int, delta: Json) -> None:
        kind = delta.get("type")
        pieces = self._pieces.get(index)
        if pieces is None:
            raise ProviderFault("bad_response", "the stream adds to a part that it did not begin")
        field = _PIECES.get(kind) if isinstance(kind, str) else None
        if field is not None:
            piece = text_in(delta, field)
            self._allowance.take(len(piece))
            pieces.append(piece)
            if kind == "text_delta":
                self._relay.text(piece)
        elif kind == "signature_delta":
            self._blocks[index]["signature"] = text_in(delta, "signature")
        elif kind == "citations_delta":
            citations = self._blocks[index].get("citations")
            if not isinstance(citations, list):
                citations = self._blocks[index]["citations"] = []
            self._allowance.take_value(delta)
            cast(list[object], citations).append(delta.get("citation"))

    def _close(self, index: int) -> None:
        """Put the pieces of a block together; a second stop, or one of no block, is nothing."""
        pieces = self._pieces.pop(index, None)
        if not pieces:
            return
        block = self._blocks[index]
        kind = text_in(block, "type")
        whole = "".join(pieces)
        if kind in ("text", "thinking"):
            block[kind] = text_in(block, kind) + whole
        elif whole:
            arguments, fault = read_arguments(whole)
            block["input"] = arguments if fault is None else whole

    def _count(self, data: Json) -> None:
        """Usage is the sum so far: it replaces what was known, and a part left out stays."""
        known = object_in(self._message, "usage")
        said = {key: value for key, value in object_in(data, "usage").items() if value is not None}
        self._message["usage"] = {**known, **said}


def read_message(body: Json, details: Details) -> ModelReply:
    """The answer in a message body.  Raises ProviderFault `bad_response`, `refused`."""
    content = objects_in(body, "content")
    stop_reason = text_in(body, "stop_reason")
    if not isinstance(body.get("content"), list) or not stop_reason:
        raise ProviderFault(
            "bad_response", "the answer is no message of the Messages API", details=details
        )
    if stop_reason == "refusal":
        raise ProviderFault("refused", details=details)
    return ModelReply(
        text="".join(worded(text_in(one, "text")) for one in content if one.get("type") == "text"),
        stop_reason=stop_reason,
        tool_requests=_calls(content) if stop_reason in _ASKING else (),
        usage=read_usage(object_in(body, "usage")),
        echo=echo_of(body),
    )


def read_usage(usage: Json) -> Usage | None:
    """The tokens of one answer; `input` is what no cache had.  None when nothing was said."""
    found = Usage(
        input=tokens_in(usage, "input_tokens"),
        output=tokens_in(usage, "output_tokens"),
        cache_read=tokens_in(usage, "cache_read_input_tokens"),
        cache_write=tokens_in(usage, "cache_creation_input_tokens"),
    )
    return None if found == Usage() else found


def echo_of(body: Json) -> list[Json]:
    """The blocks of the answer as they go back: unchanged, but for what the API would refuse."""
    return [_echoed(one) for one in sendable(objects_in(body, "content"))]


def show_message(body: Json, relay: TextRelay) -> None:
    """Hand on the text of a whole message as its stream would have."""
    for block in objects_in(body, "content"):
        if block.get("type") == "text":
            relay.begin_block()
            relay.text(text_in(block, "text"))


def joined(first: Json, second: Json) -> Json:
    """One body from a paused message and its continuation, both paid for."""
    before = object_in(first, "usage")
    after = object_in(second, "usage")
    counted = [key for key in (*before, *after) if tokens_in(before, key) or tokens_in(after, key)]
    total = {key: (tokens_in(before, key) or 0) + (tokens_in(after, key) or 0) for key in counted}
    content = [*objects_in(first, "content"), *objects_in(second, "content")]
    return {**second, "content": content, "usage": {**before, **after, **total}}


def _calls(content: Iterable[Json]) -> tuple[ToolRequest, ...]:
    return tuple(_call(block) for block in content if block.get("type") == "tool_use")


def _call(block: Json) -> ToolRequest:
    arguments, fault = checked_arguments(block.get("input", {}))
    return ToolRequest(
        id=text_in(block, "id"), name=text_in(block, "name"), arguments=arguments, fault=fault
    )


def _echoed(block: Json) -> Json:
    """The block as it goes back: the API takes a call only with an object as its input."""
    if block.get("type") in ("tool_use", "server_tool_use"):
        return {**block, "input": object_in(block, "input")}
    return block


def _index(data: Json) -> int:
    return number_in(data, "index") or 0
