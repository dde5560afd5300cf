"""An answer without end fails its turn before it fills the memory.  Spec: section 3."""

import json

import pytest

from mead.providers.allowance import MAXIMUM_CHARACTERS, Allowance
from mead.providers.anthropic import AnthropicProvider
from mead.providers.errors import ProviderFault
from mead.providers.ollama import OllamaProvider
from mead.providers.openai import OpenAiProvider
from mead.providers.relay import TextRelay
from tests.helpers.model_words import DONE, ask, call_piece, chunk, event
from tests.helpers.replay_server import sse
from tests.helpers.replayed import failure, replaying

LONG = "x" * 60_000
TIMES = MAXIMUM_CHARACTERS // len(LONG) + 1


def delta(index=0, **fields):
    return event({"type": "content_block_delta", "index": index, "delta": fields})


def block(**fields):
    return event({"type": "content_block_start", "index": 0, "content_block": fields})


def line(**message):
    return json.dumps({"message": message, "done": False}).encode() + b"\n"


ANTHROPIC = {
    "text": (block(type="text"), delta(type="text_delta", text=LONG)),
    "thinking": (block(type="thinking"), delta(type="thinking_delta", thinking=LONG)),
    "tool arguments": (
        block(type="tool_use", id="a", name="b"),
        delta(type="input_json_delta", partial_json=LONG),
    ),
    "blocks": (b"", block(type="server_tool_use", id="a", name="b", input={"x": LONG})),
    "citations": (block(type="text"), delta(type="citations_delta", citation={"cited": LONG})),
    "unknown fields": (b"", event({"type": "message_delta", "delta": {"new": LONG}})),
}
OPENAI = {
    "text": chunk({"content": LONG}),
    "text in parts": chunk({"content": [{"type": "text", "text": LONG}]}),
    "thinking": chunk({"reasoning_content": LONG}),
    "thinking in parts": chunk({"reasoning_details": [{"text": LONG}]}),
    "a refusal": chunk({"refusal": LONG}),
    "tool arguments": chunk({"tool_calls": [call_piece(LONG, name="b", index=0)]}),
    "tool calls": chunk({"tool_calls": [call_piece("{}", name=LONG)]}),
    "finish reasons": chunk({}, LONG),
}
OLLAMA = {
    "text": line(content=LONG),
    "thinking": line(thinking=LONG),
    "tool calls": line(tool_calls=[{"function": {"name": "b", "arguments": {"x": LONG}}}]),
}


@pytest.fixture
def fault_of():
    """How a call fails that is answered with these parts and then nothing more."""
    running = []

    def call(build, path, *parts, **changes):
        starter = replaying(build, path)
        running.append(starter)
        _, provider = next(starter)(sse(*parts, **changes))
        return failure(provider.converse_stream, ask(), lambda text: None)

    yield call
    for starter in running:
        next(starter, None)


def is_too_large(fault):
    return (fault.reason, fault.message) == (
        "bad_response",
        f"the answer has more than {MAXIMUM_CHARACTERS} characters",
    )


@pytest.mark.parametrize("kind", ANTHROPIC)
def test_an_anthropic_answer_without_end_is_a_bad_response(fault_of, kind):
    once, again = ANTHROPIC[kind]
    assert is_too_large(fault_of(AnthropicProvider, "", once, *[again] * TIMES))


@pytest.mark.parametrize("kind", OPENAI)
def test_an_openai_answer_without_end_is_a_bad_response(fault_of, kind):
    assert is_too_large(fault_of(OpenAiProvider, "/v1", *[OPENAI[kind]] * TIMES))


@pytest.mark.parametrize("kind", OLLAMA)
def test_an_ollama_answer_without_end_is_a_bad_response(fault_of, kind):
    parts = [OLLAMA[kind]] * TIMES
    assert is_too_large(fault_of(OllamaProvider, "", *parts, kind="application/x-ndjson"))


def test_text_thinking_and_arguments_count_together(fault_of):
    share = TIMES // 3 + 1
    parts = [OPENAI[kind] for kind in ("text", "thinking", "tool arguments")] * share
    assert is_too_large(fault_of(OpenAiProvider, "/v1", *parts))


def test_an_answer_of_four_megabytes_is_whole():
    times = MAXIMUM_CHARACTERS // 2 // len(LONG)
    starter = replaying(OpenAiProvider, "/v1")
    _, provider = next(starter)(sse(*[chunk({"content": LONG})] * times, chunk({}, "stop"), DONE))
    assert provider.complete(ask()).text == LONG * times
    next(starter, None)


def test_pieces_of_nothing_count_too():
    allowance = Allowance()

    def keep_many():
        for _ in range(MAXIMUM_CHARACTERS // 8):
            allowance.take(0)

    with pytest.raises(ProviderFault):
        keep_many()


def test_white_space_before_the_first_word_is_kept_in_time_that_grows_with_it():
    seen = []
    relay = TextRelay(seen.append)
    for _ in range(200_000):  # minutes, were it all looked at again with every piece
        relay.text(" \n")
    assert not relay.shown
    relay.text("a")
    relay.text(" ")
    assert seen == [" \n" * 200_000 + "a", " "]
