import json

import pytest
from gevent.event import Event
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mead.protocols import ModelReply, ToolRequest
from mead.providers.anthropic import AnthropicProvider
from mead.turn import Usage
from tests.helpers.cutting import cut_at
from tests.helpers.model_words import (
    KEY,
    TOOL,
    ask,
    event,
    message_body,
    message_events,
    options,
    pieces,
    round_of,
    told,
)
from tests.helpers.replay_server import BOUND_S, ReplayServer, answer, sse
from tests.helpers.replayed import failure, replaying

CALL = {"type": "tool_use", "id": "toolu_1", "name": "notes__search", "input": {"text": "tea"}}
THOUGHT = {"type": "thinking", "thinking": "The notes know.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
TEXT = {"type": "text", "text": "Let me see."}


@pytest.fixture
def replay():
    yield from replaying(AnthropicProvider)


def stream(*blocks, **ending):
    return sse(b"".join(message_events(blocks or (TEXT,), **ending)))


def sent(server, at=-1):
    return server.seen[at].json


# -- the request -----------------------------------------------------------------------------------


def test_a_request_carries_the_version_the_key_and_the_conversation(replay):
    server, provider = replay(stream())
    provider.complete(ask("And now?", history=told(("Hi", "Hello."))))
    seen = server.seen[0]
    assert (seen.method, seen.path) == ("POST", "/v1/messages")
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.headers["x-api-key"] == KEY
    assert "authorization" not in seen.headers
    assert seen.json == {
        "model": "test-model",
        "max_tokens": 4096,
        "stream": True,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And now?"},
        ],
    }


def test_options_appear_in_the_body_only_when_they_are_set(replay):
    server, provider = replay(
        stream(),
        system="Be brief.",
        max_tokens=10,
        temperature=0.0,
        effort="low",
        cache="1h",
        extra={"metadata": {"user_id": "u"}, "output_config": {"format": {"type": "text"}}},
    )
    provider.complete(ask())
    body = sent(server)
    assert body["system"] == "Be brief."
    assert body["max_tokens"] == 10
    assert body["temperature"] == 0.0
    assert body["output_config"] == {"effort": "low", "format": {"type": "text"}}
    assert body["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert body["metadata"] == {"user_id": "u"}


def test_tools_are_described_by_their_schema(replay):
    server, provider = replay(stream())
    provider.converse(ask(tools=(TOOL,)))
    assert sent(server)["tools"] == [
        {
            "name": "notes__search",
            "description": "Search the notes",
            "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
        }
    ]


def test_without_a_key_no_key_is_sent(replay):
    server, provider = replay(stream(), api_key=None)
    provider.complete(ask())
    assert "x-api-key" not in server.seen[0].headers


def test_a_blank_prompt_is_refused_before_anything_is_sent(replay):
    server, provider = replay(stream())
    assert failure(provider.complete, ask(" \n")).reason == "invalid_request"
    assert server.seen == []


# -- a plain answer and a streamed one ------------------------------------------------------------

ANSWERS = [
    pytest.param([TEXT], {}, id="text"),
    pytest.param([THOUGHT, HIDDEN, TEXT, CALL], {"stop_reason": "tool_use"}, id="thinking-tool"),
    pytest.param([CALL, {**CALL, "id": "toolu_2"}], {"stop_reason": "tool_use"}, id="two-calls"),
    pytest.param([{"type": "text", "text": " \n"}, TEXT], {}, id="blank-text"),
    pytest.param([TEXT, {"type": "text", "text": "\n\nSo."}], {}, id="two-texts"),
    pytest.param([], {}, id="nothing"),
    pytest.param([TEXT], {"stop_reason": "max_tokens"}, id="max-tokens"),
    pytest.param([TEXT], {"stop_reason": "stop_sequence"}, id="stop-sequence"),
    pytest.param([TEXT], {"stop_reason": "something_new"}, id="unknown-reason"),
    pytest.param(
        [TEXT],
        {"usage": {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 5}},
        id="usage",
    ),
]


@pytest.mark.parametrize(("blocks", "ending"), ANSWERS)
def test_a_plain_answer_and_a_stream_become_the_same_reply(replay, blocks, ending):
    _, streamed = replay(sse(b"".join(message_events(blocks, **ending))))
    _, plain = replay(answer(message_body(blocks, **ending)))
    shown_streamed, shown_plain = [], []
    first = streamed.converse_stream(ask(), shown_streamed.append)
    second = plain.converse_stream(ask(), shown_plain.append)
    assert first == second
    assert "".join(shown_streamed) == "".join(shown_plain) == first.text
    assert streamed.converse(ask()) == first
    assert plain.complete(ask()) == first


TEXTS = "Gr\u00fc\u00dfe \u2028 \u65e5\u672c\u8a9e \U0001f600"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, 3000), max_size=12), framing=st.sampled_from(["chunked", "close"])
)
def test_however_a_stream_is_cut_the_reply_is_the_same(cuts, framing):
    blocks = [THOUGHT, {"type": "text", "text": TEXTS}, CALL]
    body = b"".join(message_events(blocks, stop_reason="tool_use"))
    with ReplayServer(sse(*cut_at(body, cuts), framing=framing)) as server:
        provider = AnthropicProvider(options(base_url=server.url))
        shown = []
        reply = provider.converse_stream(ask(), shown.append)
        provider.close()
    assert reply.text == "".join(shown) == TEXTS
    assert reply.tool_requests[0].arguments == {"text": "tea"}
    assert reply.echo == blocks


def test_each_text_is_handed_on_the_moment_it_arrives(replay):
    events = message_events()
    shown = []
    came = Event()

    def on_text(text):
        shown.append(text)
        came.set()

    def after_the_first():
        assert came.wait(BOUND_S)
        assert shown == ["Hello"]

    _, provider = replay(sse(*events[:3], after_the_first, *events[3:]))
    provider.converse_stream(ask(), on_text)
    assert shown == ["Hello", " ther", "e."]


def test_unknown_events_blocks_and_deltas_are_skipped(replay):
    events = message_events()
    odd = [
        event({"type": "ping"}),
        event({"type": "brand_new", "index": 3}),
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "hum_delta"}}),
        b"event: ping\ndata:\n\n",
        b": keep-alive\n\n",
    ]
    extra = {"type": "content_block_start", "index": 1, "content_block": {"type": "hologram"}}
    _, provider = replay(sse(*events[:2], *odd, *events[2:-2], event(extra), *events[-2:]))
    assert provider.complete(ask()).text == "Hello there."


def test_citations_are_kept_for_the_way_back(replay):
    events = message_events([TEXT])
    delta = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    cited = event({"type": "content_block_delta", "index": 0, "delta": delta})
    _, provider = replay(sse(*events[:3], cited, cited, *events[3:]))
    assert provider.complete(ask()).echo == [
        {**TEXT, "citations": [{"cited_text": "x"}, {"cited_text": "x"}]}
    ]


def test_an_event_for_a_block_that_never_began_is_a_bad_response(replay):
    events = message_events()
    _, provider = replay(sse(events[0], *events[2:]))
    assert failure(provider.complete, ask()).reason == "bad_response"


# -- the tool loop --------------------------------------------------------------------------------


def test_a_tool_round_goes_back_as_it_came_with_all_results_in_one_message(replay):
    first = [THOUGHT, HIDDEN, TEXT, CALL, {**CALL, "id": "toolu_2", "input": {}}]
    server, provider = replay(stream(*first, stop_reason="tool_use"), stream())
    reply = provider.converse(ask(tools=(TOOL,)))
    assert reply.text == "Let me see."
    assert [call.id for call in reply.tool_requests] == ["toolu_1", "toolu_2"]
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "Green.", ""),)))
    assert sent(server)["messages"][1:] == [
        {"role": "assistant", "content": first},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Green."},
                {"type": "tool_result", "tool_use_id": "toolu_2"},
            ],
        },
    ]


def test_the_conversation_of_a_tool_loop_only_grows_at_its_end(replay):
    asking = stream(THOUGHT, CALL, stop_reason="tool_use")
    server, provider = replay(asking, asking, stream(), system="Be brief.")
    rounds = ()
    for _ in range(2):
        reply = provider.converse(ask(tools=(TOOL,), rounds=rounds))
        rounds = (*rounds, round_of(reply, "x"))
    provider.converse(ask(tools=(TOOL,), rounds=rounds))
    earlier, later, last = [seen.json for seen in server.seen]
    assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
    assert last["messages"][: len(later["messages"])] == later["messages"]
    assert earlier["tools"] == last["tools"]
    assert earlier["system"] == last["system"]


def test_a_failed_or_unanswered_call_still_gets_its_result(replay):
    server, provider = replay(
        stream(CALL, {**CALL, "id": "toolu_2"}, stop_reason="tool_use"), stream()
    )
    reply = provider.converse(ask(tools=(TOOL,)))
    answered = round_of(reply, "Denied.", "x", is_error=True)
    lost = type(answered)(reply=reply, answers=answered.answers[:1])
    provider.converse(ask(tools=(TOOL,), rounds=(lost,)))
    results = sent(server)["messages"][-1]["content"]
    assert [one["tool_use_id"] for one in results] == ["toolu_1", "toolu_2"]
    assert [one["is_error"] for one in results] == [True, True]


def test_a_round_that_came_from_elsewhere_is_written_anew(replay):
    call = ToolRequest(id="a", name="notes__search", arguments={"text": "tea"})
    reply = ModelReply(text="Let me see.", stop_reason="tool_use", tool_requests=(call,))
    server, provider = replay(stream())
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "x"),)))
    assert sent(server)["messages"][1]["content"] == [TEXT, {**CALL, "id": "a"}]


def test_broken_arguments_are_a_fault_and_go_back_as_an_empty_object(replay):
    broken = {**CALL, "input": '{"text": "te'}
    server, provider = replay(stream(broken, stop_reason="tool_use"), stream())
    reply = provider.converse(ask(tools=(TOOL,)))
    assert reply.tool_requests[0].fault is not None
    assert reply.tool_requests[0].arguments == {}
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "?", is_error=True),)))
    assert sent(server)["messages"][1]["content"][0]["input"] == {}


def test_arguments_that_are_no_object_are_a_fault(replay):
    _, provider = replay(stream({**CALL, "input": "[1]"}, stop_reason="tool_use"))
    assert provider.converse(ask()).tool_requests[0].fault is not None


# -- stop reasons ----------------------------------------------------------------------------------


def test_a_refusal_fails_the_turn_and_drops_what_was_said(replay):
    _, provider = replay(stream(TEXT, stop_reason="refusal"))
    failed = failure(provider.complete, ask())
    assert failed.reason == "refused"
    assert "Let me see" not in str(failed)


def test_a_full_window_ends_the_answer_and_runs_no_call(replay):
    _, provider = replay(stream(TEXT, CALL, stop_reason="model_context_window_exceeded"))
    reply = provider.converse(ask())
    assert reply.stop_reason == "model_context_window_exceeded"
    assert reply.tool_requests == ()


def test_a_paused_answer_goes_on_and_both_parts_are_counted(replay):
    searching = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": 1}}
    used = {"input_tokens": 100, "output_tokens": 10}
    paused = stream(TEXT, searching, stop_reason="pause_turn", usage=used)
    server, provider = replay(paused, stream({"type": "text", "text": " Done."}, usage=used))
    shown = []
    reply = provider.converse_stream(ask(), shown.append)
    assert reply.text == "".join(shown) == "Let me see. Done."
    assert reply.usage == Usage(input=200, output=20)
    assert sent(server)["messages"][1:] == [{"role": "assistant", "content": [TEXT, searching]}]


def test_an_answer_that_pauses_for_ever_is_given_up(replay):
    server, provider = replay(stream(stop_reason="pause_turn"))
    assert failure(provider.complete, ask()).reason == "provider_error"
    assert len(server.seen) == 6


def test_an_answer_that_does_not_say_why_it_ended_is_a_bad_response(replay):
    _, provider = replay(answer({**message_body(), "stop_reason": None}))
    assert failure(provider.complete, ask()).reason == "bad_response"


# -- llama.cpp's /v1/messages ----------------------------------------------------------------------


def test_llama_cpp_leaves_fields_out_and_is_understood(replay):
    call = {"type": "tool_use", "id": "x", "name": "notes__search"}
    written = json.dumps({"text": "tea"})
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(written)]
    parts = [
        {
            "type": "message_start",
            "message": {"id": "1", "content": [], "usage": {"input_tokens": 4}},
        },
        {"type": "content_block_start", "index": 0, "content_block": call},
        *({"type": "content_block_delta", "index": 0, "delta": one} for one in deltas),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    _, provider = replay(sse(*map(event, parts)))
    reply = provider.converse(ask())
    assert reply.tool_requests[0].arguments == {"text": "tea"}
    assert reply.usage == Usage(input=4, output=9)


def test_llama_cpp_reports_errors_without_a_frame(replay):
    inside = b'event: error\ndata: {"code": 500, "message": "x", "type": "server_error"}\n\n'
    _, provider = replay(sse(inside))
    assert failure(provider.complete, ask()).reason == "provider_error"
    full = {"error": {"code": 400, "message": "x", "type": "exceed_context_size_error"}}
    _, provider = replay(answer(full, 400))
    assert failure(provider.complete, ask()).reason == "context_too_long"
