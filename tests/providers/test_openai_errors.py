import gevent
import pytest
from gevent.event import Event

from mead.config import Secret
from mead.providers.openai import OpenAiProvider
from tests.helpers.model_words import (
    DONE,
    ask,
    chunk,
    pieces,
)
from tests.helpers.replay_server import BOUND_S, Reply, answer, sse
from tests.helpers.replayed import failure, replaying

USED = {"prompt_tokens": 20, "completion_tokens": 5}


@pytest.fixture
def replay():
    yield from replaying(OpenAiProvider, "/v1")


def text_chunks(text="Hello there.", finish="stop"):
    return [*(chunk({"content": one}) for one in pieces(text)), chunk({}, finish)]


def stream(*chunks, done=True):
    return sse(b"".join(chunks), *([DONE] if done else []))


def error(message="words of the provider", **more):
    return {"error": {"message": message, **more}}


REFUSALS = [
    (400, error(type="invalid_request_error"), "invalid_request"),
    (400, error(code="context_length_exceeded"), "context_too_long"),
    (400, error(code=400, type="exceed_context_size_error", n_ctx=512), "context_too_long"),
    (
        400,
        error("This model's maximum context length is 8", type="BadRequestError"),
        "context_too_long",
    ),
    (400, {"object": "error", "message": "x", "type": "BadRequestError"}, "invalid_request"),
    (400, {"error": "a text"}, "invalid_request"),
    (400, error(code="content_filter"), "refused"),
    (400, error('"auto" tool choice requires --enable-auto-tool-choice'), "tools_unsupported"),
    (404, error("No endpoints found that support tool use"), "tools_unsupported"),
    (401, error(code="invalid_api_key"), "unauthorized"),
    (401, b"", "unauthorized"),
    (402, error(code=402), "spend_limit"),
    (404, error(code="model_not_found"), "model_not_found"),
    (404, b"<html>not found</html>", "model_not_found"),
    (413, b"", "context_too_long"),
    (422, error(), "invalid_request"),
    (429, error(code="rate_limit_exceeded"), "rate_limited"),
    (429, error(type="insufficient_quota", code="insufficient_quota"), "spend_limit"),
    (500, error("does not match the expected peg-native format"), "provider_error"),
    (503, error("Loading model", type="unavailable_error"), "provider_unavailable"),
]


@pytest.mark.parametrize(("status", "body", "reason"), REFUSALS)
def test_an_error_status_becomes_its_reason(replay, status, body, reason):
    _, provider = replay(answer(body, status))
    failed = failure(provider.complete, ask())
    assert failed.reason == reason
    assert f"HTTP {status}" in failed.message
    assert "words of the provider" not in str(failed)


@pytest.mark.parametrize(
    ("body", "attempts"),
    [
        (error(code="rate_limit_exceeded"), 2),
        (error(type="insufficient_quota"), 1),
    ],
)
def test_a_limit_is_waited_for_but_no_spend_limit(replay, body, attempts):
    wait = {"retry-after": "0"}
    server, provider = replay(answer(body, 429, headers=wait), max_retries=1)
    failure(provider.complete, ask())
    assert len(server.seen) == attempts


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"code": 502, "message": "x"}, "provider_unavailable"),
        ({"code": 429, "message": "x"}, "rate_limited"),
        ({"type": "server_error", "message": "x"}, "provider_error"),
        ({"code": 400, "type": "exceed_context_size_error"}, "context_too_long"),
    ],
)
def test_an_error_inside_a_stream_is_that_error(replay, said, reason):
    inside = chunk(error=said)
    _, provider = replay(stream(*text_chunks()[:2], inside, done=False))
    assert failure(provider.converse_stream, ask(), lambda _: None).reason == reason


def test_an_error_object_with_a_good_status_is_that_error(replay):
    _, provider = replay(answer(error(code="rate_limit_exceeded"), 200))
    assert failure(provider.complete, ask()).reason == "rate_limited"


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_every_stream_without_its_end_marker_fails(replay, framing):
    parts = [*text_chunks(), chunk(usage=USED)]
    for kept in range(len(parts) + 1):
        _, provider = replay(sse(*parts[:kept], framing=framing))
        assert failure(provider.complete, ask()).reason == "bad_response"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply([b"<html>"], kind="text/html"), id="html"),
        pytest.param(answer(b"<html>"), id="html as json"),
        pytest.param(answer({"choices": []}), id="no choices"),
        pytest.param(answer({"choices": None}), id="null choices"),
        pytest.param(answer({}), id="an empty object"),
        pytest.param(answer({"status": "ok"}), id="another object"),
        pytest.param(answer({"choices": [{}]}), id="an empty choice"),
        pytest.param(answer({"choices": [{"message": None}]}), id="a null message"),
        pytest.param(
            answer({"choices": [{"text": "Hello", "finish_reason": "stop"}]}), id="a completion"
        ),
        pytest.param(sse(b'data: {"choices": [{}]}\n\n', DONE), id="an empty choice streamed"),
        pytest.param(
            sse(b'data: {"choices": [{"text": "Hello", "finish_reason": "stop"}]}\n\n', DONE),
            id="a completion streamed",
        ),
        pytest.param(sse(b'data: {"status": "ok"}\n\n', DONE), id="another object streamed"),
        pytest.param(sse(DONE), id="only the end"),
        pytest.param(sse(b"data: {\n\n", DONE), id="broken chunk"),
        pytest.param(Reply([], kind=None), id="nothing"),
    ],
)
def test_a_good_status_over_a_bad_body_is_a_bad_response(replay, reply):
    _, provider = replay(reply)
    assert failure(provider.complete, ask()).reason == "bad_response"


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk({"content": "Part"}), chunk({}, "content_filter")],
        [chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop")],
    ],
)
def test_a_refusal_fails_the_turn(replay, chunks):
    _, provider = replay(stream(*chunks))
    assert failure(provider.complete, ask()).reason == "refused"


def test_a_message_holds_no_key(replay):
    key = "abcdef0123456789abcdef0123456789"
    _, provider = replay(answer(error(key, type=key, code=key), 400), api_key=Secret(key))
    assert key not in repr(failure(provider.complete, ask()))


def test_a_killed_turn_closes_the_connection_at_once(replay):
    server, provider = replay(sse(*text_chunks()[:2], end="hold"))
    came = Event()
    running = gevent.spawn(provider.converse_stream, ask(), lambda _: came.set())
    assert came.wait(BOUND_S)
    running.kill(timeout=BOUND_S)
    assert server.left.wait(BOUND_S)
