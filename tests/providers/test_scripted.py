import gevent
import pytest
from gevent.event import Event

from mead.errors import ConfigurationError, TurnFailed
from mead.protocols import StreamingProvider, ToolProvider
from mead.providers.script_step import Step
from mead.providers.scripted import ScriptedProvider
from mead.turn import Usage
from tests.helpers.model_words import TOOL, ask, round_of, told
from tests.helpers.replay_server import BOUND_S

CALLING = {"tool_calls": [{"name": "notes__search", "arguments": {"text": "tea"}}]}


def test_it_is_a_provider_with_tools_and_streaming_and_without_a_host():
    provider = ScriptedProvider(["Hi"], model="actor")
    assert isinstance(provider, ToolProvider)
    assert isinstance(provider, StreamingProvider)
    assert (provider.name, provider.model, provider.host) == ("scripted", "actor", None)


def test_every_turn_begins_at_the_first_step_and_each_round_takes_the_next():
    provider = ScriptedProvider([CALLING, "Green."])
    for _ in range(2):
        first = provider.converse(ask(tools=(TOOL,)))
        assert first.stop_reason == "tool_use"
        assert first.tool_requests[0].arguments == {"text": "tea"}
        rounds = (round_of(first, "x"),)
        assert provider.converse(ask(rounds=rounds)).text == "Green."
        assert provider.converse(ask(rounds=rounds * 2)).text == "Green."


def test_what_was_said_before_changes_nothing():
    provider = ScriptedProvider(["one", "two"])
    assert provider.complete(ask(history=told(("a", "b"), ("c", "d")))).text == "one"


def test_a_stream_hands_out_the_pieces():
    shown = []
    reply = ScriptedProvider([{"chunks": ["Green ", "tea."]}]).converse_stream(ask(), shown.append)
    assert shown == ["Green ", "tea."]
    assert reply.text == "Green tea."
    assert reply.stop_reason == "end_turn"


def test_usage_and_stop_reason_are_as_written():
    step = {"text": "x", "usage": {"input": 1, "cache_read": 2}, "stop_reason": "max_tokens"}
    reply = ScriptedProvider([step]).complete(ask())
    assert reply.usage == Usage(input=1, cache_read=2)
    assert reply.stop_reason == "max_tokens"


def test_an_error_strikes_after_the_pieces_were_shown():
    shown = []
    provider = ScriptedProvider([{"chunks": ["a"], "error": "overloaded"}])
    with pytest.raises(TurnFailed) as failed:
        provider.converse_stream(ask(), shown.append)
    assert failed.value.reason == "overloaded"
    assert shown == ["a"]


def test_a_delay_can_be_cut_short_by_killing_the_turn():
    provider = ScriptedProvider([{"text": "x", "delay_ms": 3_600_000}])
    running = gevent.spawn(provider.complete, ask())
    gevent.sleep(0)
    assert not running.dead
    running.kill(timeout=BOUND_S)
    assert running.dead


def test_arguments_that_are_no_object_stand_for_broken_ones():
    step = {"tool_calls": [{"name": "x", "arguments": '{"a', "id": "mine"}, {"name": "y"}]}
    broken, bare = ScriptedProvider([step]).converse(ask()).tool_requests
    assert (broken.id, broken.arguments) == ("mine", {})
    assert broken.fault is not None
    assert (bare.arguments, bare.fault) == ({}, None)


def test_ids_differ_within_a_turn():
    provider = ScriptedProvider([{"tool_calls": [{"name": "x"}, {"name": "x"}]}])
    first = provider.converse(ask())
    second = provider.converse(ask(rounds=(round_of(first, "", ""),)))
    ids = [call.id for reply in (first, second) for call in reply.tool_requests]
    assert len(set(ids)) == 4


def test_a_function_may_choose_the_step():
    provider = ScriptedProvider(lambda request: f"You said {request.prompt}")
    assert provider.complete(ask("tea")).text == "You said tea"
    assert provider.complete(ask("milk")).text == "You said milk"
    assert [request.prompt for request in provider.requests] == ["tea", "milk"]


def test_a_function_may_give_steps_and_wait():
    go_on = Event()

    def step(_):
        go_on.wait(BOUND_S)
        return Step(chunks=("late",))

    running = gevent.spawn(ScriptedProvider(step).complete, ask())
    go_on.set()
    assert running.get(timeout=BOUND_S).text == "late"


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ([], "script"),
        ("Hi", "script"),
        ({"text": "x"}, "script"),
        ([3], "script[0]"),
        (["x", {"txt": "x"}], "script[1].txt"),
        ([{"text": 3}], "script[0].text"),
        ([{"text": "x", "chunks": ["y"]}], "script[0].chunks"),
        ([{"delay_ms": -1}], "script[0].delay_ms"),
        ([{"error": "nonsense"}], "script[0].error"),
        ([{"usage": {"input": "3"}}], "script[0].usage.input"),
        ([{"tool_calls": [{"arguments": {}}]}], "script[0].tool_calls[0].name"),
    ],
)
def test_a_broken_script_is_refused_with_the_place_of_each_fault(script, fault):
    with pytest.raises(ConfigurationError) as refused:
        ScriptedProvider(script)
    assert any(line.startswith(fault) for line in refused.value.faults)


def test_every_fault_of_a_script_is_told_at_once():
    with pytest.raises(ConfigurationError) as refused:
        ScriptedProvider([3, {"txt": 1, "delay_ms": "x"}])
    assert len(refused.value.faults) == 3
