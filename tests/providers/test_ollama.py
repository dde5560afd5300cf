"""The Ollama provider against prepared bytes.  Spec: section 5, PROVIDERS sections 2 and 5."""

import json
import logging

import gevent
import pytest
from gevent.event import Event
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mead.config import Secret
from mead.errors import TurnFailed
from mead.protocols import (
    ModelReply,
    StreamingProvider,
    ToolProvider,
)
from mead.providers.ollama import OllamaProvider
from mead.providers.ollama_wire import reply_from
from tests.helpers.cutting import cut_at
from tests.helpers.ollama_words import HELLO, REQUEST, error, failure, lines, options, stream
from tests.helpers.replay_server import ReplayServer, Reply, answer


@pytest.fixture
def server():
    with ReplayServer() as replay:
        yield replay


@pytest.fixture
def provider(server):
    made = OllamaProvider(options(server))
    yield made
    made.close()


# -- streams ---------------------------------------------------------------------------------------


def test_the_text_is_shown_as_it_comes_and_returned_whole(server, provider):
    go_on = Event()
    seen: list[str] = []

    def on_text(text: str) -> None:
        seen.append(text)
        go_on.set()  # the server sends the second line only when the first was shown

    first, *rest = lines(*HELLO)
    server.replies = [stream([first, go_on, *rest])]
    reply = provider.converse_stream(REQUEST, on_text)
    assert seen == ["Hello", " there 🍯"]
    assert (reply.text, reply.stop_reason) == ("Hello there 🍯", "end_turn")
    assert (reply.usage.input, reply.usage.output) == (11, 3)
    assert reply.warnings == ()


def test_a_plain_answer_reads_as_the_stream_does(server, provider):
    server.replies = [stream(lines(*HELLO))]
    streamed = provider.complete(REQUEST)
    plain = {**HELLO[-1], "message": {"role": "assistant", "content": "Hello there 🍯"}}
    server.replies = [answer(plain, kind="application/json; charset=utf-8")]
    shown: list[str] = []
    assert provider.converse_stream(REQUEST, shown.append) == streamed
    assert shown == ["Hello there 🍯"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 400), max_size=12), end=st.sampled_from([b"\n", b"\r\n"]))
def test_any_split_of_the_bytes_gives_the_same_reply(server, provider, cuts, end):
    data = b"\xef\xbb\xbf" + b"".join(
        json.dumps(line, ensure_ascii=False).encode() + end for line in HELLO
    )
    server.replies = [stream(cut_at(data, cuts))]
    assert provider.complete(REQUEST) == expected_hello()


def expected_hello() -> ModelReply:
    return reply_from({**HELLO[-1], "message": {"role": "assistant", "content": "Hello there 🍯"}})


def test_an_answer_without_its_end_marker_is_no_answer(server, provider):
    """PROVIDERS section 2: the server stops after 30 repeated tokens without a done line."""
    failed = failure(provider, server, stream(lines(*HELLO[:2])))
    assert failed.reason == "bad_response"
    assert len(server.seen) == 1


def test_half_a_line_at_the_end_is_dropped(server, provider):
    failed = failure(provider, server, stream([*lines(*HELLO[:2]), b'{"message":{"cont']))
    assert failed.reason == "bad_response"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (stream([]), "bad_response"),
        (stream([b"hello\n"]), "bad_response"),
        (stream([b"[1]\n"]), "bad_response"),
        (answer(b"<html>Sign in</html>", kind="text/html"), "bad_response"),
        (answer(b"<html>Not found</html>", 404, kind="text/html"), "model_not_found"),
        (answer(b"", 301), "provider_error"),
        (Reply([b"SSH-2.0-OpenSSH_9.2\r\n"], framing="raw"), "bad_response"),
        (Reply(framing="raw"), "provider_unavailable"),
    ],
)
def test_what_is_no_answer_of_ollama_is_said_to_be_none(server, provider, reply, reason):
    assert failure(provider, server, reply).reason == reason


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"status": "ok"},
        {"done": True},
        {"message": None, "done": True},
        {"message": "Hello", "done": True},
        {"message": {"content": "par"}},
        {"message": {"content": "par"}, "done": False},
        {"message": {"content": "par"}, "done": "true"},
        {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}], "done": True},
        {"response": "Hello", "done": True},  # of /api/generate
    ],
)
def test_an_object_that_is_no_finished_message_is_no_answer(server, provider, shape):
    """In one piece and as a stream; of the one in one piece nothing is shown either."""
    plain = answer(shape, kind="application/json; charset=utf-8")
    server.replies = [plain]
    shown: list[str] = []
    with pytest.raises(TurnFailed) as failed:
        provider.converse_stream(REQUEST, shown.append)
    assert (failed.value.reason, shown) == ("bad_response", [])
    assert failure(provider, server, plain).reason == "bad_response"
    assert failure(provider, server, stream(lines(shape))).reason == "bad_response"


def test_the_end_marker_alone_may_come_without_a_message(server, provider):
    server.replies = [stream(lines(*HELLO[:2], {"done": True, "done_reason": "stop"}))]
    assert provider.complete(REQUEST).text == "Hello there 🍯"


def test_a_line_past_the_limit_ends_the_call(server, provider):
    endless = stream([b"x" * (1024 * 1024)] * 17)
    assert failure(provider, server, endless).reason == "bad_response"


def test_what_follows_the_end_marker_is_not_read(server, provider):
    server.replies = [stream([*lines(*HELLO), b"garbage\n"])]
    assert provider.complete(REQUEST).text == "Hello there 🍯"


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "reason", "said"),
    [
        (error(404, "model 'llama3.1' not found"), "model_not_found", "ollama pull llama3.1"),
        (
            error(400, "registry.ollama.ai/library/llama3.1:latest does not support tools"),
            "tools_unsupported",
            "does not support tools",
        ),
        (error(400, '"llama3.1" does not support thinking'), "invalid_request", "think"),
        (
            error(400, "the prompt is longer than the context length currently available"),
            "context_too_long",
            "num_ctx",
        ),
        (error(400, "missing request body"), "invalid_request", "HTTP 400"),
        (error(401, "unauthorized"), "unauthorized", "ollama.com"),
        (error(402, "this model requires a subscription"), "spend_limit", "limit"),
        (error(403, "cloud is disabled"), "unauthorized", "HTTP 403"),
        (error(429, "too many requests"), "rate_limited", "limits"),
        (error(500, "a secret prompt made it crash"), "provider_error", "HTTP 500"),
        (error(502, "bad gateway"), "provider_unavailable", "HTTP 502"),
        (
            error(503, "server busy, please try again.  maximum pending requests exceeded"),
            "overloaded",
            "overloaded",
        ),
        (
            error(500, "model requires more system memory (8 GiB) than is available (2 GiB)"),
            "provider_error",
            "too little memory",
        ),
    ],
)
def test_an_error_becomes_its_reason_and_a_sentence_of_ours(server, provider, reply, reason, said):
    failed = failure(provider, server, reply)
    assert failed.reason == reason
    assert said in failed.message


def test_an_error_line_fails_the_call_with_its_meaning(server, provider):
    """litellm#33622: an `{"error"}` line raised KeyError 'message', reported as a timeout."""
    broken = stream([*lines(HELLO[0]), b'{"error":"an error was encountered while running"}\n'])
    assert failure(provider, server, broken).reason == "provider_error"


def test_a_tool_call_that_ollama_could_not_read_is_an_error_of_its_own(server, provider):
    """langchain#34746: the line "error parsing tool call" killed the stream.

    The line quotes what the model wrote; the message does not.
    """
    line = {"error": "error parsing tool call: raw='a secret {', err=invalid character"}
    failed = failure(provider, server, stream(lines(HELLO[0], line)))
    assert failed.reason == "provider_error"
    assert "tool call" in failed.message


def test_an_error_line_may_bring_its_status(server, provider):
    line = {"error": "slow down", "status": 429}
    assert failure(provider, server, stream(lines(line))).reason == "rate_limited"


def test_an_error_may_be_an_object(server, provider):
    wrapped = answer({"error": {"message": "model 'x' not found"}}, 404)
    assert failure(provider, server, wrapped).reason == "model_not_found"


def test_a_busy_server_is_asked_again_before_anything_was_shown(server):
    busy = error(503, "server busy, please try again.  maximum pending requests exceeded")
    busy.headers["Retry-After"] = "0"
    server.replies = [busy, stream(lines(*HELLO))]
    provider = OllamaProvider(options(server, max_retries=1))
    assert provider.complete(REQUEST).text == "Hello there 🍯"
    assert len(server.seen) == 2
    provider.close()


def test_nothing_is_asked_again_after_text_was_shown(server):
    provider = OllamaProvider(options(server, max_retries=2))
    broken = stream([*lines(HELLO[0]), b'{"error":"server busy, please try again"}\n'])
    assert failure(provider, server, broken, stream(lines(*HELLO))).reason == "overloaded"
    assert len(server.seen) == 1
    provider.close()


def test_a_silent_server_may_still_be_loading_its_model(server):
    """Seed A2: a load can take longer than the receive timeout, and the message says what to do."""
    provider = OllamaProvider(options(server, receive_timeout_ms=50))
    never = Event()
    failed = failure(provider, server, Reply([never], framing="raw"))
    never.set()
    assert failed.reason == "provider_timeout"
    assert "loading" in failed.message
    assert "keep_alive" in failed.message
    assert "receive_timeout_ms" in failed.message
    provider.close()


def test_silence_in_the_middle_of_an_answer_is_no_loading(server):
    provider = OllamaProvider(options(server, receive_timeout_ms=50))
    never = Event()
    failed = failure(provider, server, stream([*lines(HELLO[0]), never]))
    never.set()
    assert failed.reason == "provider_timeout"
    assert "loading" not in failed.message
    provider.close()


def test_a_killed_call_closes_its_connection(server, provider):
    """Spec: cancelling a turn closes the connection at once."""
    shown = Event()
    more = Event()
    rest = lines(HELLO[1]) * 4000
    server.replies = [stream([*lines(HELLO[0]), more, *rest])]
    call = gevent.spawn(provider.converse_stream, REQUEST, lambda text: shown.set())
    assert shown.wait(5)
    call.kill()
    more.set()
    assert server.left.wait(5)


# -- headers, names, seams -------------------------------------------------------------------------


def test_the_key_travels_as_a_bearer_token_and_nowhere_else(server, caplog):
    caplog.set_level(logging.DEBUG)
    provider = OllamaProvider(options(server, api_key=Secret("key-of-the-operator")))
    failed = failure(provider, server, error(401, "unauthorized key-of-the-operator"))
    assert server.seen[0].headers["authorization"] == "Bearer key-of-the-operator"
    assert "key-of-the-operator" not in failed.message
    assert "key-of-the-operator" not in caplog.text
    assert "secret prompt" not in caplog.text
    provider.close()


def test_a_prefix_of_the_address_is_kept(server):
    provider = OllamaProvider(options(server, base_url=f"{server.url}/ollama"))
    server.replies = [stream(lines(*HELLO))]
    provider.complete(REQUEST)
    assert server.seen[0].path == "/ollama/api/chat"
    provider.close()


def test_the_address_to_bind_to_is_read_as_this_machine(server):
    """ollama-python#471: a client connected to 0.0.0.0."""
    provider = OllamaProvider(options(server, base_url=f"http://0.0.0.0:{server.port}"))
    server.replies = [stream(lines(*HELLO))]
    assert provider.complete(REQUEST).text == "Hello there 🍯"
    assert provider.host == f"127.0.0.1:{server.port}"
    provider.close()


def test_it_is_a_provider_with_tools_and_streams(provider):
    assert isinstance(provider, ToolProvider)
    assert isinstance(provider, StreamingProvider)
    assert (provider.name, provider.model) == ("ollama", "llama3.1")


# -- a prompt that was cut -------------------------------------------------------------------------


def test_a_prompt_that_filled_its_context_is_a_warning(server):
    provider = OllamaProvider(options(server, num_ctx=11))
    server.replies = [stream(lines(*HELLO))]
    reply = provider.complete(REQUEST)
    assert reply.text == "Hello there 🍯"
    assert reply.warnings == ("truncated_prompt",)
    provider.close()
