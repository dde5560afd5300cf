import pytest

from mead.providers.openai import OpenAiProvider
from tests.helpers.model_words import (
    DONE,
    TOOL,
    ask,
    call_piece,
    chunk,
    round_of,
)
from tests.helpers.replay_server import sse
from tests.helpers.replayed import replaying


@pytest.fixture
def replay():
    yield from replaying(OpenAiProvider, "/v1")


def reply_to(replay, *chunks):
    _, provider = replay(sse(*chunks, DONE))
    return provider.converse(ask())


def calls_of(replay, *parts, finish="tool_calls"):
    chunks = [chunk({"tool_calls": [part]}) for part in parts]
    return reply_to(replay, *chunks, chunk({}, finish)).tool_requests


def named(name="notes__search", arguments=None, **more):
    return call_piece(arguments, name=name, **more)


def test_pieces_belong_to_the_call_of_their_index(replay):
    first, second = calls_of(
        replay,
        named(index=0, id="a", arguments=""),
        named("other", index=1, id="b", arguments='{"n":'),
        call_piece('{"x": 1}', index=0),
        call_piece(" 2}", index=1),
    )
    assert (first.id, first.name, first.arguments) == ("a", "notes__search", {"x": 1})
    assert (second.id, second.name, second.arguments) == ("b", "other", {"n": 2})


def test_an_id_or_a_name_in_every_piece_starts_no_new_call(replay):
    (call,) = calls_of(
        replay,
        named(index=0, id="a", arguments='{"x'),
        named(index=0, id="a", arguments='": {"y'),
        named(index=0, arguments='": 1}}'),
    )
    assert call.arguments == {"x": {"y": 1}}


def test_an_id_that_comes_late_belongs_to_its_call(replay):
    (call,) = calls_of(replay, named(index=0), call_piece('{"x": 1}', index=0, id="a"))
    assert (call.id, call.arguments) == ("a", {"x": 1})


def test_whole_calls_without_index_are_calls_of_their_own(replay):
    calls = calls_of(
        replay,
        named(id="a", arguments='{"x": 1}'),
        named(id="b", arguments='{"x": 1}'),
        named(arguments='{"x": 1}'),
    )
    assert [call.arguments for call in calls] == [{"x": 1}] * 3
    assert len({call.id for call in calls}) == 3


def test_whole_calls_at_one_index_without_ids_are_calls_of_their_own(replay):
    calls = calls_of(replay, *[named(index=0, arguments='{"x": 1}')] * 3)
    assert [call.arguments for call in calls] == [{"x": 1}] * 3


def test_a_new_id_at_a_taken_index_is_a_new_call_also_when_it_comes_in_pieces(replay):
    calls = calls_of(
        replay,
        named(index=0, id="a", arguments=""),
        call_piece('{"x": 1}', index=0),
        named(index=0, id="b", arguments=""),
        call_piece('{"x": 2}', index=0),
    )
    assert [(call.id, call.arguments) for call in calls] == [("a", {"x": 1}), ("b", {"x": 2})]


def test_pieces_without_index_and_name_go_on_with_the_last_call(replay):
    (call,) = calls_of(replay, named(id="a"), call_piece('{"x":'), call_piece("1}"))
    assert call.arguments == {"x": 1}


def test_arguments_that_are_an_object_already_are_taken(replay):
    (call,) = calls_of(
        replay, {"index": 0, "id": "a", "function": {"name": "n", "arguments": {"x": 1}}}
    )
    assert call.arguments == {"x": 1}


@pytest.mark.parametrize("written", ['{"x": ', "[1]", "null", "nonsense"])
def test_arguments_that_cannot_be_read_are_a_fault(replay, written):
    (call,) = calls_of(replay, named(index=0, id="a", arguments=written))
    assert call.fault is not None
    assert call.arguments == {}


def test_a_call_cut_by_max_tokens_is_never_returned(replay):
    chunks = [
        chunk({"content": "Let me"}),
        chunk({"tool_calls": [named(index=0, id="a", arguments='{"x": ')]}),
        chunk({}, "length"),
    ]
    reply = reply_to(replay, *chunks)
    assert (reply.stop_reason, reply.tool_requests, reply.text) == ("max_tokens", (), "Let me")


@pytest.mark.parametrize("finish", ["stop", None])
def test_calls_are_found_though_the_server_does_not_say_so(replay, finish):
    chunks = [chunk({"tool_calls": [named(index=0, id="a", arguments="{}")]}), chunk({}, finish)]
    reply = reply_to(replay, *chunks)
    assert reply.stop_reason == "tool_use"
    assert len(reply.tool_requests) == 1


def test_made_up_ids_differ_from_round_to_round(replay):
    asking = sse(chunk({"tool_calls": [named(arguments="{}")]}), chunk({}, "tool_calls"), DONE)
    _, provider = replay(asking)
    first = provider.converse(ask(tools=(TOOL,)))
    second = provider.converse(ask(tools=(TOOL,), rounds=(round_of(first, "x"),)))
    assert first.tool_requests[0].id != second.tool_requests[0].id
