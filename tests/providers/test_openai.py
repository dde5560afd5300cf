from types import MappingProxyType

import pytest
from gevent.event import Event
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mead.protocols import ModelReply, ToolRequest
from mead.providers.openai import OpenAiProvider
from mead.turn import Usage
from tests.helpers.cutting import cut_at
from tests.helpers.model_words import (
    DONE,
    KEY,
    TOOL,
    ask,
    call_piece,
    chunk,
    completion,
    options,
    pieces,
    round_of,
    told,
)
from tests.helpers.replay_server import BOUND_S, ReplayServer, answer, sse
from tests.helpers.replayed import replaying

ROLE = chunk({"role": "assistant", "content": None})
USED = {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}


@pytest.fixture
def replay():
    yield from replaying(OpenAiProvider, "/v1")


def text_chunks(text="Hello there.", finish="stop"):
    return [ROLE, *(chunk({"content": one}) for one in pieces(text)), chunk({}, finish)]


def stream(*chunks, done=True):
    return sse(b"".join(chunks or text_chunks()), *([DONE] if done else []))


def reply_to(replay, *chunks, **changes):
    _, provider = replay(stream(*chunks), **changes)
    return provider.converse(ask())


# -- the request -----------------------------------------------------------------------------------


def test_a_request_carries_the_key_and_the_conversation(replay):
    server, provider = replay(stream(), system="Be brief.", temperature=0.5, extra={"seed": 1})
    provider.complete(ask("And now?", history=told(("Hi", "Hello."), ("?", " "))))
    seen = server.seen[0]
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.json == {
        "model": "test-model",
        "max_tokens": 4096,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "seed": 1,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And now?"},
        ],
    }


def test_openai_itself_is_told_the_limit_under_its_newer_name():
    with ReplayServer(stream()) as proxy:
        provider = OpenAiProvider(options(base_url="http://api.openai.com/v1", proxy=proxy.url))
        provider.complete(ask())
        provider.close()
        assert proxy.seen[0].json["max_completion_tokens"] == 4096
        assert "max_tokens" not in proxy.seen[0].json
        assert provider.host == "api.openai.com:80"


def test_a_tool_round_goes_back_with_its_reasoning_and_each_result(replay):
    calls = [
        call_piece('{"text": "tea"}', index=0, id="a", name="notes__search"),
        call_piece("{}", index=1, id="b", name="notes__search"),
    ]
    server, provider = replay(
        stream(
            chunk({"reasoning_content": "The notes "}),
            chunk({"reasoning_content": "know."}),
            chunk({"content": "Let me see."}),
            chunk({"tool_calls": calls}, "tool_calls"),
        ),
        stream(),
    )
    reply = provider.converse(ask(tools=(TOOL,)))
    assert reply.text == "Let me see."
    assert reply.stop_reason == "tool_use"
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "Green.", ""),)))
    body = server.seen[1].json
    assert body["tools"][0]["function"]["parameters"] == TOOL.schema
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "The notes know.",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "notes__search", "arguments": '{"text":"tea"}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "notes__search", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "Green."},
        {"role": "tool", "tool_call_id": "b", "content": ""},
    ]


def test_a_round_that_came_from_elsewhere_is_written_anew(replay):
    call = ToolRequest(id="a", name="notes__search", arguments={"text": "tea"})
    reply = ModelReply(text="Let me see.", stop_reason="tool_use", tool_requests=(call,))
    server, provider = replay(stream())
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "x"),)))
    asked, told_back = server.seen[0].json["messages"][-2:]
    assert (asked["content"], asked["tool_calls"][0]["id"]) == ("Let me see.", "a")
    assert told_back == {"role": "tool", "tool_call_id": "a", "content": "x"}


def test_details_of_the_reasoning_go_back_in_order(replay):
    details = [
        {"type": "reasoning.text", "text": "a"},
        {"type": "reasoning.encrypted", "data": "b"},
    ]
    server, provider = replay(
        stream(
            *(chunk({"reasoning_details": [one]}) for one in details),
            chunk({"tool_calls": [call_piece("{}", index=0, id="a", name="n")]}, "tool_calls"),
        ),
        stream(),
    )
    reply = provider.converse(ask(tools=(TOOL,)))
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "x"),)))
    assert server.seen[1].json["messages"][1]["reasoning_details"] == details


def test_frozen_tables_of_the_settings_travel_as_objects(replay):
    extra = MappingProxyType({"a": MappingProxyType({"b": 1}), "max_tokens": 5})
    server, provider = replay(stream(), extra=extra)
    provider.complete(ask())
    assert server.seen[0].json["a"] == {"b": 1}
    assert server.seen[0].json["max_tokens"] == 5


def test_events_without_data_and_padded_ones_are_understood(replay):
    odd = [b"data:\n\n", b"data:  \n\n", b'data:   {"choices": []}\n\n']
    _, provider = replay(sse(*odd, *text_chunks(), b"data:[DONE] \n\n"))
    assert provider.complete(ask()).text == "Hello there."


# -- a plain answer and a streamed one ------------------------------------------------------------


def whole_call(arguments, **more):
    return {"type": "function", **call_piece(arguments, name="notes__search", **more)}


ARGUMENTS = '{"text": "tea"}'

ANSWERS = [
    pytest.param(text_chunks(), completion({"content": "Hello there."}), id="text"),
    pytest.param(
        [
            chunk({"reasoning": "Hm."}),
            chunk({"content": "\n\n"}),
            chunk({"tool_calls": [call_piece("", index=0, id="a", name="notes__search")]}),
            *(
                chunk({"tool_calls": [call_piece(one, index=0)]})
                for one in pieces('{"text": "tea"}')
            ),
            chunk({}, "tool_calls"),
            chunk(usage=USED),
        ],
        completion(
            {
                "content": "\n\n",
                "reasoning": "Hm.",
                "tool_calls": [whole_call(ARGUMENTS, id="a")],
            },
            "tool_calls",
            usage=USED,
        ),
        id="reasoning-tool-usage",
    ),
    pytest.param(
        text_chunks("Long", "length"), completion({"content": "Long"}, "length"), id="max-tokens"
    ),
    pytest.param(text_chunks("x", None), completion({"content": "x"}, None), id="no-reason"),
    pytest.param(text_chunks("x", "odd"), completion({"content": "x"}, "odd"), id="unknown-reason"),
    pytest.param(text_chunks(""), completion({"content": None}), id="nothing"),
    pytest.param(
        [chunk({"content": [{"type": "text", "text": "parts"}]}, "stop")],
        completion({"content": [{"type": "text", "text": "parts"}]}),
        id="content-in-parts",
    ),
]


@pytest.mark.parametrize(("chunks", "body"), ANSWERS)
def test_a_plain_answer_and_a_stream_become_the_same_reply(replay, chunks, body):
    _, streamed = replay(stream(*chunks))
    _, plain = replay(answer(body))
    shown_streamed, shown_plain = [], []
    first = streamed.converse_stream(ask(), shown_streamed.append)
    second = plain.converse_stream(ask(), shown_plain.append)
    assert first == second
    assert "".join(shown_streamed) == "".join(shown_plain) == first.text
    assert streamed.complete(ask()) == first
    assert plain.converse(ask()) == first


TEXT = "Gr\u00fc\u00dfe \u2028 \u65e5\u672c\u8a9e \U0001f600"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, 2500), max_size=12), framing=st.sampled_from(["chunked", "close"])
)
def test_however_a_stream_is_cut_the_reply_is_the_same(cuts, framing):
    calls = [chunk({"tool_calls": [call_piece('{"a": "\u20ac"}', index=0, id="a", name="n")]})]
    body = b"".join([*text_chunks(TEXT, None), *calls, chunk({}, "tool_calls"), DONE])
    with ReplayServer(sse(*cut_at(body, cuts), framing=framing)) as server:
        provider = OpenAiProvider(options(base_url=server.url))
        shown = []
        reply = provider.converse_stream(ask(), shown.append)
        provider.close()
    assert reply.text == "".join(shown) == TEXT
    assert reply.tool_requests[0].arguments == {"a": "\u20ac"}


def test_each_text_is_handed_on_the_moment_it_arrives(replay):
    shown = []
    came = Event()

    def on_text(text):
        shown.append(text)
        came.set()

    def after_the_first():
        assert came.wait(BOUND_S)
        assert shown == ["Hello"]

    first, second, *rest = text_chunks()
    _, provider = replay(sse(first, second, after_the_first, *rest, DONE))
    provider.converse_stream(ask(), on_text)
    assert shown == ["Hello", " ther", "e."]


def test_usage_tells_what_the_cache_had(replay):
    reply = reply_to(replay, *text_chunks(), chunk(usage=USED))
    assert reply.usage == Usage(input=12, output=5, cache_read=8)


def test_without_usage_nothing_is_known(replay):
    assert reply_to(replay, *text_chunks()).usage is None


def test_other_choices_are_not_mixed_in(replay):
    other = {"index": 1, "delta": {"content": "B"}, "finish_reason": None}
    both = {"index": 0, "delta": {"content": "A"}, "finish_reason": None}
    assert reply_to(replay, chunk(choices=[other, both]), chunk({}, "stop")).text == "A"


def test_content_in_the_chunk_that_finishes_is_kept(replay):
    """vLLM#35705."""
    assert (
        reply_to(replay, chunk({"content": "Hel"}), chunk({"content": "lo"}, "stop")).text
        == "Hello"
    )


@pytest.mark.parametrize(
    ("reasons", "word"),
    [
        (("stop", "tool_calls"), "tool_use"),
        (("tool_calls", "stop"), "tool_use"),
        (("stop", "length"), "max_tokens"),
        (("length", "stop"), "max_tokens"),
        (("stop", "stop"), "end_turn"),
    ],
)
def test_of_two_finish_chunks_the_weightier_counts(replay, reasons, word):
    ending = [chunk({}, reason) for reason in reasons]
    assert reply_to(replay, chunk({"content": "x"}), *ending).stop_reason == word
