"""Requests, and what the two wire formats say, as tests write them."""

import json
from collections.abc import Sequence
from typing import Any

from mead.config import Secret
from mead.config.settings import ProviderOptions
from mead.protocols import Exchange, ModelRequest, Tool, ToolAnswer, ToolRound

KEY = "sk-test-0123456789-abcdefghij"

TOOL = Tool(
    name="notes__search",
    server="notes",
    tool="search",
    kind="read",
    description="Search the notes",
    schema={"type": "object", "properties": {"text": {"type": "string"}}},
)


def options(**changes: Any) -> ProviderOptions:
    """Options for a test server: quick to give up."""
    usual = {"model": "test-model", "api_key": Secret(KEY), "max_retries": 0}
    return ProviderOptions(**{**usual, **changes})


def ask(prompt: str = "Hello?", **changes: Any) -> ModelRequest:
    """A request without history."""
    return ModelRequest(history=changes.pop("history", ()), prompt=prompt, **changes)


def told(*pairs: tuple[str, str]) -> tuple[Exchange, ...]:
    """Earlier exchanges."""
    return tuple(Exchange(prompt=prompt, answer=answer) for prompt, answer in pairs)


def round_of(reply: Any, *texts: str, is_error: bool = False) -> ToolRound:
    """The reply's calls, answered with these texts in order."""
    answers = [
        ToolAnswer(id=call.id, name=call.name, text=text, is_error=is_error)
        for call, text in zip(reply.tool_requests, texts, strict=True)
    ]
    return ToolRound(reply=reply, answers=tuple(answers))


def event(data: dict[str, Any], end: str = "\n") -> bytes:
    """An event as Anthropic sends it: with the name that its data has too."""
    text = json.dumps(data, ensure_ascii=False)
    return f"event: {data.get('type', 'message')}{end}data: {text}{end}{end}".encode()


# -- the Messages API ------------------------------------------------------------------------------


def message_events(
    blocks: Sequence[dict[str, Any]] = ({"type": "text", "text": "Hello there."},),
    *,
    stop_reason: str = "end_turn",
    usage: dict[str, Any] | None = None,
    stop: bool = True,
) -> list[bytes]:
    """The events of a message with these finished blocks, sent in pieces of five characters."""
    counted = {"input_tokens": 10, "output_tokens": 1}
    start = {"id": "msg_1", "role": "assistant", "content": [], "model": "test-model"}
    events = [event({"type": "message_start", "message": {**start, "usage": counted}})]
    for index, block in enumerate(blocks):
        events += [event(one) for one in _block_events(index, block)]
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    ending = {"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 7}}
    return [*events, event(ending), *([event({"type": "message_stop"})] if stop else [])]


def message_body(
    blocks: Sequence[dict[str, Any]] = ({"type": "text", "text": "Hello there."},),
    *,
    stop_reason: str = "end_turn",
    usage: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The same message as a plain call returns it."""
    counted = {"input_tokens": 10, "output_tokens": 1, **(usage or {"output_tokens": 7})}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": list(blocks),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": counted,
    }


def _block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    kind = block["type"]
    empty = {"text": {"text": ""}, "thinking": {"thinking": ""}, "tool_use": {"input": {}}}
    opened = {**block, **empty.get(kind, {})}
    opened.pop("signature", None)
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": index, "content_block": opened}
    ]
    deltas: list[dict[str, Any]] = []
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    elif kind == "thinking":
        thoughts = pieces(block["thinking"])
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        written = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": one} for one in pieces(written)]
    events += [{"type": "content_block_delta", "index": index, "delta": one} for one in deltas]
    return [*events, {"type": "content_block_stop", "index": index}]


# -- chat/completions ------------------------------------------------------------------------------

DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk; without a delta it has no choices."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    data = {"id": "c1", "object": "chat.completion.chunk", "choices": choices, **more}
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def call_piece(arguments: str | None = None, **more: Any) -> dict[str, Any]:
    """An element of a delta's tool_calls."""
    function = {} if arguments is None else {"arguments": arguments}
    if "name" in more:
        function["name"] = more.pop("name")
    return {**more, "function": function}


def completion(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    """A plain answer."""
    whole = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "message": whole, "finish_reason": finish}], **more}


def pieces(text: str, size: int = 5) -> list[str]:
    """The text in pieces of so many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]
