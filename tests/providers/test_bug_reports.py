"""Bugs that other clients had, one test each, named after their reports.  Ollama's are elsewhere.

Source: PROVIDERS section 5.
"""

import pytest

from mead.providers.anthropic import AnthropicProvider
from mead.providers.openai import OpenAiProvider
from mead.turn import Usage
from tests.helpers.model_words import (
    DONE,
    TOOL,
    ask,
    call_piece,
    chunk,
    completion,
    event,
    message_body,
    message_events,
    round_of,
    told,
)
from tests.helpers.replay_server import answer, sse
from tests.helpers.replayed import failure, replaying

TEXT = {"type": "text", "text": "Let me see."}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "notes__search", "input": {"text": "tea"}}
CALL_2 = {**CALL, "id": "toolu_2"}


@pytest.fixture
def anthropic():
    yield from replaying(AnthropicProvider)


@pytest.fixture
def openai():
    yield from replaying(OpenAiProvider, "/v1")


def stream(*blocks, **ending):
    return sse(b"".join(message_events(blocks or (TEXT,), **ending)))


def test_an_error_inside_a_stream_does_not_surface_as_status_200(anthropic):
    """anthropic-sdk-python#1918: only the type of the error tells, the status was good."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    _, provider = anthropic(sse(*message_events()[:1], event(error)))
    failed = failure(provider.complete, ask())
    assert failed.reason == "overloaded"
    assert "200" not in failed.message


def test_an_empty_text_block_that_the_api_returned_is_not_sent_back(anthropic):
    """anthropic-sdk-python#461: the API refuses on resend what it gave itself."""
    blocks = [{"type": "text", "text": ""}, CALL]
    server, provider = anthropic(stream(*blocks, stop_reason="tool_use"), stream())
    reply = provider.converse(ask(tools=(TOOL,)))
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "x"),)))
    assert server.seen[1].json["messages"][1]["content"] == [CALL]


def test_a_tool_call_cut_by_max_tokens_is_not_run(anthropic):
    """anthropic-sdk-python#794: its arguments may be half of what was meant."""
    cut = {**CALL, "input": '{"text": "te'}
    _, provider = anthropic(stream(TEXT, cut, stop_reason="max_tokens"))
    reply = provider.converse(ask(tools=(TOOL,)))
    assert (reply.stop_reason, reply.text, reply.tool_requests) == (
        "max_tokens",
        "Let me see.",
        (),
    )


def test_content_that_is_already_in_message_start_is_kept(anthropic):
    """langchain#34406: blocks may be there from the start, without events of their own."""
    start = {"id": "m", "content": [TEXT, CALL], "usage": {"input_tokens": 1}}
    ending = message_events([], stop_reason="tool_use")[1:]
    _, provider = anthropic(sse(event({"type": "message_start", "message": start}), *ending))
    shown = []
    reply = provider.converse_stream(ask(), shown.append)
    assert "".join(shown) == reply.text == "Let me see."
    assert reply.tool_requests[0].arguments == {"text": "tea"}


def test_cache_tokens_are_told_apart_and_not_added_to_the_input(anthropic):
    """langchain#32818."""
    usage = {
        "input_tokens": 3,
        "output_tokens": 4,
        "cache_read_input_tokens": 500,
        "cache_creation_input_tokens": 60,
    }
    _, provider = anthropic(stream(usage=usage))
    assert provider.complete(ask()).usage == Usage(
        input=3, output=4, cache_read=500, cache_write=60
    )


def test_usage_of_a_stream_is_cumulative_and_not_added_up(anthropic):
    """langchainjs#10249: what a later event leaves out keeps its value, the rest replaces it."""
    first, *rest = message_events(usage={"output_tokens": 9})
    counted = {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 500}
    start = {"id": "m", "content": [], "usage": counted}
    early = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5}}
    events = [event({"type": "message_start", "message": start}), *rest[:-2], event(early)]
    _, provider = anthropic(sse(*events, *rest[-2:]))
    assert provider.complete(ask()).usage == Usage(input=3, output=9, cache_read=500)
    assert first != events[0]


def test_white_space_at_the_end_of_an_earlier_answer_is_cut(anthropic):
    """langchain#35071: the API refuses it in the last answer."""
    server, provider = anthropic(stream())
    provider.complete(ask(history=told(("Hi", "Hello. \n"))))
    assert server.seen[0].json["messages"][1]["content"] == "Hello."


def test_thinking_goes_back_unchanged_with_the_tool_results(anthropic):
    """pydantic-ai#2040: without it the API refuses the next call.  Its text may be empty."""
    server, provider = anthropic(stream(THOUGHT, CALL, stop_reason="tool_use"), stream())
    reply = provider.converse(ask(tools=(TOOL,)))
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "x"),)))
    assert server.seen[1].json["messages"][1]["content"] == [THOUGHT, CALL]
    assert reply.text == ""


def test_pause_turn_is_not_the_end(anthropic):
    """pydantic-ai#2600: the answer goes on when its content is sent back."""
    server, provider = anthropic(stream(stop_reason="pause_turn"), stream())
    assert provider.complete(ask()).stop_reason == "end_turn"
    assert server.seen[1].json["messages"][-1] == {"role": "assistant", "content": [TEXT]}


@pytest.mark.parametrize("written", ["", '""'])
def test_a_tool_without_arguments_may_stream_nothing(anthropic, written):
    """litellm#5063."""
    _, provider = anthropic(stream({**CALL, "input": written}, stop_reason="tool_use"))
    (call,) = provider.converse(ask(tools=(TOOL,))).tool_requests
    assert (call.arguments, call.fault) == ({}, None)


def test_a_chunk_without_choices_is_skipped(openai):
    """litellm#30870: usage and keep-alive chunks have none."""
    usage = {"prompt_tokens": 2, "completion_tokens": 1}
    chunks = [chunk(), chunk({"content": "Hi"}), chunk(), chunk({}, "stop"), chunk(usage=usage)]
    _, provider = openai(sse(*chunks, DONE))
    reply = provider.complete(ask())
    assert (reply.text, reply.usage) == ("Hi", Usage(input=2, output=1))


def test_an_index_that_is_always_0_joins_no_calls(openai):
    """ollama#15457: a new id at an occupied index is a new call."""
    parts = [call_piece('{"n": 1}', index=0, id=one, name="notes__search") for one in "abc"]
    _, provider = openai(sse(*(chunk({"tool_calls": [one]}) for one in parts), DONE))
    calls = provider.converse(ask(tools=(TOOL,))).tool_requests
    assert [call.id for call in calls] == ["a", "b", "c"]
    assert [call.arguments for call in calls] == [{"n": 1}] * 3


def test_a_call_without_an_id_gets_one(openai):
    """vllm#18412: the id is missing in every piece of the stream, and in its plain answer."""
    parts = [call_piece("", index=0, name="notes__search"), call_piece('{"n": 1}', index=0)]
    whole = {"tool_calls": [call_piece('{"n": 1}', name="notes__search")]}
    chunks = [chunk({"tool_calls": [one]}) for one in parts]
    _, streamed = openai(sse(*chunks, chunk({}, "tool_calls"), DONE))
    server, plain = openai(answer(completion(whole, "tool_calls")), sse(chunk({}, "stop"), DONE))
    reply = plain.converse(ask(tools=(TOOL,)))
    assert reply == streamed.converse(ask(tools=(TOOL,)))
    (call,) = reply.tool_requests
    assert call.id
    assert call.arguments == {"n": 1}
    plain.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "x"),)))
    asked, told_back = server.seen[1].json["messages"][-2:]
    assert asked["tool_calls"][0]["id"] == told_back["tool_call_id"] == call.id


def test_a_chunk_that_begins_with_a_line_end_ends_the_event_before_it(anthropic):
    """mpetazzoni/sseclient#11: the blank line is cut in two by the chunks."""
    parts = [part for one in message_events() for part in (one[:-1], one[-1:])]
    _, provider = anthropic(sse(*parts))
    assert provider.complete(ask()).text == "Hello there."


def test_a_crlf_that_is_split_across_chunks_is_one_line_end(anthropic):
    """psf/requests#3980: it must not make a blank line of its own."""
    body = b"".join(message_events()).replace(b"\n", b"\r\n")
    parts = body.replace(b"\r\n", b"\r\x00\n").split(b"\x00")
    _, provider = anthropic(sse(*parts))
    assert provider.complete(ask()).text == "Hello there."


def test_a_byte_order_mark_does_not_drop_the_first_event(openai, anthropic):
    """openai-python PR#3819."""
    mark = b"\xef\xbb\xbf"
    _, provider = openai(sse(mark, chunk({"content": "Hi"}), chunk({}, "stop"), DONE))
    assert provider.complete(ask()).text == "Hi"
    usage = {"output_tokens": 7}
    _, provider = anthropic(sse(mark + b"".join(message_events(usage=usage))))
    assert provider.complete(ask()).usage == Usage(input=10, output=7)


def test_text_of_white_space_alone_is_never_sent(anthropic):
    """home-assistant/core#175637: the API answers 400."""
    history = told((" ", "x"), ("x", "\n"), ("Hi", "Hello."))
    server, provider = anthropic(stream(), system=" ")
    provider.complete(ask(history=history))
    body = server.seen[0].json
    assert [one["content"] for one in body["messages"]] == ["Hi", "Hello.", "Hello?"]
    assert "system" not in body


def test_results_of_calls_made_together_go_back_in_one_message(anthropic):
    """MoonshotAI/kosong#45: the API wants all of them in the very next message."""
    server, provider = anthropic(stream(CALL, CALL_2, stop_reason="tool_use"), stream())
    reply = provider.converse(ask(tools=(TOOL,)))
    provider.converse(ask(tools=(TOOL,), rounds=(round_of(reply, "one", "two"),)))
    *_, asked, results = server.seen[1].json["messages"]
    assert asked["role"] == "assistant"
    assert results["role"] == "user"
    assert [one["tool_use_id"] for one in results["content"]] == ["toolu_1", "toolu_2"]


def test_an_empty_answer_after_a_tool_result_is_an_answer(anthropic):
    """PROVIDERS 1.4: the model may have nothing to add."""
    _, provider = anthropic(answer(message_body([])))
    reply = provider.complete(ask())
    assert (reply.text, reply.stop_reason) == ("", "end_turn")
