"""Whatever a model server answers ends as a reply or as a failed turn.  Spec: section 3.

Real answers are changed at random places; what the provider makes of them goes back to it as the
round of a tool loop, since the next request holds the model's own words.
"""

import copy
import json
import re
from dataclasses import astuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mead.errors import TurnFailed
from mead.providers.anthropic import AnthropicProvider
from mead.providers.ollama import OllamaProvider
from mead.providers.openai import OpenAiProvider
from mead.providers.shape import BROKEN_ARGUMENTS, MAXIMUM_TOKENS, dumped
from mead.turn import Usage
from tests.helpers.model_words import (
    TOOL,
    ask,
    call_piece,
    completion,
    message_body,
    message_events,
    options,
    round_of,
)
from tests.helpers.replay_server import ReplayServer, Reply, answer, sse


def written(value):
    """The value as JSON; a text of `deep N` becomes that many objects inside each other."""

    def nested(match):
        depth = int(match[1])
        return b'{"a":' * depth + b"[]" + b"}" * depth

    return re.sub(rb'"deep (\d+)"', nested, json.dumps(value).encode())


ODD = [
    *(None, True, False, 0, 1, -1, 1.5, 1e300, 10**18, -(10**18), 10**30),
    *("", "x", "\0", "\x1b[31m", "x" * 1000, "\ud83d\ude00", "tool_use", "length", "error"),
    *([], {}, [[]], [None], [{}], [1, "a"], {"a": []}, {"type": []}, {"type": "text", "text": 5}),
    *("deep 150", "deep 260", "deep 900", "deep 1010"),
]

TOOL_USE = {"type": "tool_use", "id": "t1", "name": TOOL.name, "input": {"text": "a b"}}
MESSAGE = [
    {"type": "thinking", "thinking": "Let me see", "signature": "sig"},
    {"type": "text", "text": "Hello there"},
    TOOL_USE,
]
COUNTED = {
    "prompt_tokens": 3,
    "completion_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 1},
}
CALL = call_piece('{"text": "a"}', index=0, id="t1", type="function", name=TOOL.name)
LINES = [
    {
        "model": "m",
        "message": {"role": "assistant", "content": "", "thinking": "Hm"},
        "done": False,
    },
    {
        "model": "m",
        "message": {
            "role": "assistant",
            "content": "Hello",
            "tool_calls": [{"function": {"name": TOOL.name, "arguments": {"text": "a"}}}],
        },
        "done": False,
    },
    {
        "model": "m",
        "message": {"role": "assistant", "content": "!"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 30,
        "eval_count": 3,
    },
]


def choice(delta, finish=None, **more):
    one = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [one], **more}


STREAMS = {
    "anthropic": [
        json.loads(one.partition(b"data: ")[2])
        for one in message_events(MESSAGE, stop_reason="tool_use")
    ],
    "openai": [
        choice({"role": "assistant", "content": "He", "reasoning_content": "Hm"}),
        choice({"content": "llo", "tool_calls": [CALL]}),
        choice({"content": [{"type": "text", "text": "!"}], "reasoning_details": [{"text": "a"}]}),
        choice({}, "tool_calls", usage=COUNTED),
    ],
    "ollama": LINES,
}
BODIES = {
    "anthropic": message_body(MESSAGE, stop_reason="tool_use"),
    "openai": completion(
        {"content": "Hello", "tool_calls": [CALL], "reasoning": "Hm"}, "tool_calls", usage=COUNTED
    ),
    "ollama": {**LINES[2], "message": LINES[1]["message"]},
}
ERRORS = {
    "anthropic": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
    "openai": {"error": {"message": "maximum context length", "type": "a", "code": "b"}},
    "ollama": {"error": "model not found", "status": 404},
}


@st.composite
def changed(draw, value):
    """The value with a part or some taken out or replaced by something odd."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        holders = list(_holders(value))
        if not holders:
            return value
        holder, key = draw(st.sampled_from(holders))
        if isinstance(holder, dict) and draw(st.integers(0, 5)) == 0:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return value


def _holders(value):
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _holders(value[key])


def streamed(kind, events):
    if kind == "ollama":
        lines = [written(one) + b"\n" for one in events]
        return Reply(lines, kind="application/x-ndjson")
    sent = [b"data: " + written(one) + b"\n\n" for one in events]
    return sse(*sent, *([b"data: [DONE]\n\n"] if kind == "openai" else []))


BUILD = {"anthropic": AnthropicProvider, "openai": OpenAiProvider, "ollama": OllamaProvider}


@pytest.fixture(params=BUILD)
def answered(request):
    """The name of a provider, and what it makes of an answer: a reply, or None for a fault."""
    build = BUILD[request.param]
    with ReplayServer(answer({})) as server:
        provider = build(options(base_url=server.url, receive_timeout_ms=2000))

        def make_of(reply, asked):
            server.replies = [reply]
            try:
                return provider.converse_stream(asked, lambda text: None)
            except TurnFailed:
                return None

        yield request.param, make_of
        provider.close()


def check(answered, reply):
    kind, make_of = answered
    made = make_of(reply, ask(tools=(TOOL,)))
    if made is None:
        return
    assert isinstance(made.text, str)
    assert isinstance(made.stop_reason, str)
    for count in () if made.usage is None else astuple(made.usage):
        assert count is None or (type(count) is int and 0 <= count <= MAXIMUM_TOKENS)
    for call in made.tool_requests:
        assert isinstance(call.id, str)
        assert isinstance(call.name, str)
        assert dumped({"an event": {"holds": call.arguments}})
    if made.tool_requests:
        rounds = (round_of(made, *["found"] * len(made.tool_requests)),)
        make_of(streamed(kind, STREAMS[kind]), ask(tools=(TOOL,), rounds=rounds))


@pytest.mark.parametrize("count", [-1, 1.5, True, "3", [3], MAXIMUM_TOKENS + 1, 10**18, 10**30])
def test_a_number_of_tokens_that_cannot_be_is_unknown(answered, count):
    kind, make_of = answered
    fields = {
        "anthropic": "input_tokens output_tokens cache_read_input_tokens",
        "openai": "prompt_tokens completion_tokens",
        "ollama": "prompt_eval_count eval_count prompt_eval_cached_count",
    }
    told = dict.fromkeys(fields[kind].split(), count)
    body = {**BODIES[kind], "usage": {**told, "prompt_tokens_details": {"cached_tokens": count}}}
    made = make_of(answer({**body, **told}), ask(tools=(TOOL,)))
    assert made.text.startswith("Hello")
    assert made.usage in (None, Usage())


@pytest.mark.parametrize("type_", [[], {}, ["text_delta"], 5, None])
def test_a_kind_of_delta_that_is_no_text_is_one_that_is_not_known(type_):
    events = [
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": type_, "text": "a"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    with ReplayServer(streamed("anthropic", events)) as server:
        provider = AnthropicProvider(options(base_url=server.url))
        assert provider.complete(ask()).text == "b"
        provider.close()


@pytest.mark.parametrize("depth", [160, 240, 300, 1000])
def test_arguments_too_deep_to_be_passed_on_are_a_broken_call(answered, depth):
    kind, make_of = answered
    text = f"deep {depth}"
    called = {
        "anthropic": {**BODIES[kind], "content": [{**TOOL_USE, "input": {"text": text}}]},
        "ollama": {
            **LINES[2],
            "message": {"tool_calls": [{"function": {"name": "a", "arguments": {"text": text}}}]},
        },
        "openai": completion(
            {"tool_calls": [call_piece(written({"text": text}).decode(), id="t1", name="a")]}
        ),
    }
    made = make_of(answer(written(called[kind])), ask(tools=(TOOL,)))
    if made is not None:
        (call,) = made.tool_requests
        assert (call.arguments, call.fault) == ({}, BROKEN_ARGUMENTS)
    else:
        assert depth > 240


MANY = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_the_unchanged_answers_are_replies(answered):
    kind, make_of = answered
    for reply in (streamed(kind, STREAMS[kind]), answer(BODIES[kind])):
        made = make_of(reply, ask(tools=(TOOL,)))
        assert made.text.startswith("Hello")
        assert [call.name for call in made.tool_requests] == [TOOL.name]
        check(answered, reply)


@MANY
@given(data=st.data())
def test_any_stream_is_a_reply_or_a_failed_turn(answered, data):
    kind, _ = answered
    events = data.draw(changed(STREAMS[kind]))
    check(answered, streamed(kind, events))


@MANY
@given(data=st.data())
def test_any_plain_answer_is_a_reply_or_a_failed_turn(answered, data):
    kind, _ = answered
    check(answered, answer(written(data.draw(changed([BODIES[kind]]))[0])))


@MANY
@given(data=st.data(), status=st.sampled_from([200, 302, 400, 401, 404, 429, 500, 529, 999]))
def test_any_refusal_is_a_failed_turn(answered, data, status):
    kind, _ = answered
    body = data.draw(changed([ERRORS[kind]]))[0]
    check(answered, answer(written(body), status))
    check(answered, streamed(kind, [*STREAMS[kind][:2], body]))
