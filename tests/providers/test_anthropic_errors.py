import gevent
import pytest
from gevent.event import Event

from mead.config import Secret
from mead.providers.anthropic import AnthropicProvider
from tests.helpers.model_words import (
    KEY,
    ask,
    event,
    message_events,
)
from tests.helpers.replay_server import BOUND_S, Reply, answer, sse
from tests.helpers.replayed import failure, replaying

CALL = {"type": "tool_use", "id": "toolu_1", "name": "notes__search", "input": {"text": "tea"}}
TEXT = {"type": "text", "text": "Let me see."}


@pytest.fixture
def replay():
    yield from replaying(AnthropicProvider)


def stream(*blocks, **ending):
    return sse(b"".join(message_events(blocks or (TEXT,), **ending)))


def error(kind, message="words of the provider", **more):
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


WAIT = {"retry-after": "0"}

REFUSALS = [
    (400, error("invalid_request_error"), {}, "invalid_request"),
    (400, error("invalid_request_error", "prompt is too long: 9 > 8"), {}, "context_too_long"),
    (
        400,
        error("invalid_request_error", "You have reached your specified API usage limits."),
        {},
        "spend_limit",
    ),
    (401, error("authentication_error"), {}, "unauthorized"),
    (402, error("billing_error"), {}, "spend_limit"),
    (403, error("permission_error"), {}, "unauthorized"),
    (404, error("not_found_error"), {}, "model_not_found"),
    (413, error("request_too_large"), {}, "context_too_long"),
    (413, b"<html>too large</html>", {}, "context_too_long"),
    (429, error("rate_limit_error"), WAIT, "rate_limited"),
    (429, error("rate_limit_error"), {}, "spend_limit"),
    (
        429,
        error("rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
        WAIT,
        "spend_limit",
    ),
    (500, error("api_error"), {}, "provider_error"),
    (502, b"Bad gateway", {}, "provider_unavailable"),
    (503, b"", {}, "provider_unavailable"),
    (504, error("timeout_error"), {}, "provider_timeout"),
    (529, error("overloaded_error"), {}, "overloaded"),
    (418, b"{}", {}, "invalid_request"),
    (501, b"{}", {}, "provider_error"),
    (302, b"", {"Location": "/"}, "provider_error"),
]


@pytest.mark.parametrize(("status", "body", "headers", "reason"), REFUSALS)
def test_an_error_status_becomes_its_reason(replay, status, body, headers, reason):
    _, provider = replay(answer(body, status, headers=headers))
    failed = failure(provider.complete, ask())
    assert failed.reason == reason
    assert f"HTTP {status}" in failed.message
    assert "words of the provider" not in str(failed)


@pytest.mark.parametrize(
    ("status", "body", "headers", "attempts"),
    [
        (429, error("rate_limit_error"), WAIT, 2),
        (429, error("rate_limit_error"), {}, 1),
        (500, error("api_error"), WAIT, 2),
        (500, error("api_error"), {"x-should-retry": "false"}, 1),
        (400, error("invalid_request_error"), {"x-should-retry": "true", **WAIT}, 2),
        (502, b"", WAIT, 2),
        (503, b"", WAIT, 2),
        (504, b"", WAIT, 2),
        (529, error("overloaded_error"), WAIT, 2),
        (501, b"", WAIT, 1),
        (401, error("authentication_error"), WAIT, 1),
        (302, b"", WAIT, 1),
    ],
)
def test_only_what_may_pass_is_tried_again(replay, status, body, headers, attempts):
    server, provider = replay(answer(body, status, headers=headers), max_retries=1)
    failure(provider.complete, ask())
    assert len(server.seen) == attempts


def test_a_message_names_the_model_the_type_and_the_request_and_no_secret(replay):
    body = error("authentication_error", f"invalid key {KEY}")
    _, provider = replay(answer(body, 401, headers={"request-id": "req_011"}))
    failed = failure(provider.complete, ask())
    for named in ("HTTP 401", "authentication_error", "test-model", "req_011"):
        assert named in failed.message
    assert KEY not in repr(failed)


def test_an_error_type_that_quotes_the_key_is_not_shown(replay):
    key = "abcdef0123456789abcdef0123456789"
    _, provider = replay(answer(error(key), 400), api_key=Secret(key))
    assert key not in str(failure(provider.complete, ask()))


def test_an_overload_inside_a_stream_is_tried_again_while_nothing_was_shown(replay):
    events = message_events()
    broken = sse(*events[:1], event(error("overloaded_error")))
    server, provider = replay(broken, stream(), max_retries=1)
    shown = []
    assert provider.converse_stream(ask(), shown.append).text == "Let me see."
    assert "".join(shown) == "Let me see."
    assert len(server.seen) == 2


def test_an_overload_after_the_first_text_fails_the_turn(replay):
    events = message_events()
    server, provider = replay(sse(*events[:4], event(error("overloaded_error"))), max_retries=2)
    shown = []
    assert failure(provider.converse_stream, ask(), shown.append).reason == "overloaded"
    assert shown == ["Hello", " ther"]
    assert len(server.seen) == 1


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_every_stream_that_stops_before_its_end_fails(replay, framing):
    events = message_events([TEXT, CALL], stop_reason="tool_use")
    for kept in range(len(events)):
        _, provider = replay(sse(*events[:kept], framing=framing))
        assert failure(provider.complete, ask()).reason == "bad_response"


def test_half_an_event_at_the_end_of_a_connection_is_no_event(replay):
    body = b"".join(message_events())
    _, provider = replay(sse(body[:-1], framing="close"))
    assert failure(provider.complete, ask()).reason == "bad_response"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply([b"<html><p>Log in</p>"], kind="text/html"), id="html"),
        pytest.param(Reply([b"<html><p>Log in</p>"], kind="text/event-stream"), id="html as sse"),
        pytest.param(Reply([b"<p>Log in</p>"], kind="application/json"), id="html as json"),
        pytest.param(answer(b""), id="empty json"),
        pytest.param(answer([1]), id="a list"),
        pytest.param(answer({}), id="an empty object"),
        pytest.param(answer({"status": "ok"}), id="another object"),
        pytest.param(answer({"content": {}, "stop_reason": "end_turn"}), id="odd content"),
        pytest.param(answer({"stop_reason": "end_turn"}), id="no content"),
        pytest.param(
            answer({"content": [{"type": "text", "text": "par"}], "stop_reason": None}),
            id="no end",
        ),
        pytest.param(sse(event({"type": "message_stop"})), id="only the end"),
        pytest.param(sse(event({"status": "ok"})), id="another object streamed"),
        pytest.param(Reply([b'{"content": [']), id="half a body"),
        pytest.param(Reply([], kind=None), id="nothing"),
        pytest.param(sse(b"data: {nonsense\n\n"), id="broken event"),
        pytest.param(sse(b"data: [1]\n\n"), id="an event that is a list"),
    ],
)
def test_a_good_status_over_a_bad_body_is_a_bad_response(replay, reply):
    _, provider = replay(reply, max_retries=2)
    assert failure(provider.complete, ask()).reason == "bad_response"


def test_a_web_page_is_called_one_and_not_quoted(replay):
    _, provider = replay(Reply([b"<html><p>Log in</p>"], kind="text/html; charset=utf-8"))
    failed = failure(provider.complete, ask())
    assert "web page" in failed.message
    assert "Log in" not in failed.message


def test_an_error_object_with_a_good_status_is_that_error(replay):
    _, provider = replay(answer(error("overloaded_error"), 200))
    failed = failure(provider.complete, ask())
    assert failed.reason == "overloaded"
    assert "HTTP" not in failed.message


def test_a_refusal_whose_body_never_ends_is_known_by_its_status(replay):
    server, provider = replay(Reply([b"x"], 401, end="hold"), receive_timeout_ms=50)
    assert failure(provider.complete, ask()).reason == "unauthorized"
    assert server.left.wait(BOUND_S)


def test_a_killed_turn_closes_the_connection_at_once(replay):
    events = message_events()
    server, provider = replay(sse(*events[:4], end="hold"))
    came = Event()
    running = gevent.spawn(provider.converse_stream, ask(), lambda _: came.set())
    assert came.wait(BOUND_S)
    running.kill(timeout=BOUND_S)
    assert server.left.wait(BOUND_S)


def test_what_the_callback_raises_comes_back_and_closes_the_connection(replay):
    def on_text(_):
        raise KeyError("mine")

    server, provider = replay(sse(*message_events()[:4], end="hold"), max_retries=2)
    with pytest.raises(KeyError, match="mine"):
        provider.converse_stream(ask(), on_text)
    assert server.left.wait(BOUND_S)
    assert len(server.seen) == 1
