"""The tool loop: order, limits, permissions, faults."""

from collections.abc import Mapping
from typing import Any

import pytest

from mead.actors.green import Event, pause
from mead.errors import TurnFailed
from mead.protocols import ModelRequest, ToolAnswer, ToolOutcome
from mead.providers.scripted import ScriptedProvider
from tests.helpers.routing import (
    Bench,
    Person,
    Setting,
    answers,
    call,
    one_round,
    run,
    texts,
)

# -- what comes back -------------------------------------------------------------------------------


def test_a_result_goes_back_to_the_model_with_its_call() -> None:
    provider = one_round(call("notes__find", text="tea"))
    hub = Bench(notes__find=("read", lambda arguments: f"found {arguments['text']}"))
    assert run(provider, hub) == "done"
    first, second = provider.requests
    assert [tool.name for tool in first.tools] == ["notes__find"]
    assert (first.rounds, second.tools) == ((), first.tools)
    (round_,) = second.rounds
    assert round_.reply.tool_requests[0].id == round_.answers[0].id
    assert round_.answers == (
        ToolAnswer(id=round_.answers[0].id, name="notes__find", text="found tea"),
    )


def test_every_round_is_sent_again_with_the_next() -> None:
    provider = ScriptedProvider([{"tool_calls": [call("a__b", n=n)]} for n in range(3)] + ["end"])
    run(provider, Bench(a__b=("read", lambda arguments: str(arguments["n"]))))
    rounds = provider.requests[-1].rounds
    assert [round_.answers[0].text for round_ in rounds] == ["0", "1", "2"]


def test_an_error_of_a_tool_is_told_as_an_error_and_the_turn_goes_on() -> None:
    provider = one_round(call("a__b"))
    hub = Bench(a__b=("read", lambda _: ToolOutcome(text="no such note", is_error=True)))
    assert run(provider, hub) == "done"
    assert (answers(provider)[0].text, answers(provider)[0].is_error) == ("no such note", True)


def test_a_hub_that_raises_fails_the_call_and_not_the_turn() -> None:
    person = Person()

    def broken(_: object) -> str:
        raise ValueError("a secret text")

    provider = one_round(call("a__b"), call("a__c"))
    hub = Bench(a__b=("read", broken), a__c=("read", lambda _: "fine"))
    assert run(provider, hub, Setting(person=person)) == "done"
    assert texts(provider) == ["The call failed.", "fine"]
    assert ("finished", "a__b", "failed", "The call failed.") in person.events


def test_a_task_that_exits_fails_the_call_and_not_the_turn() -> None:
    person = Person()

    def leaves(_: object) -> str:
        raise SystemExit(3)

    provider = one_round(call("a__b"))
    assert run(provider, Bench(a__b=("read", leaves)), Setting(person=person)) == "done"
    assert texts(provider) == ["The call failed."]
    assert person.of("finished") == [("finished", "a__b", "failed", "The call failed.")]


def test_a_failure_is_told_while_the_calls_beside_it_still_run() -> None:
    told = Event()

    def fails(_: object) -> str:
        raise ValueError

    def waits(_: object) -> str:
        assert told.wait(5), "the failure is not told before this call ends"
        return "fine"

    class Listening(Person):
        def call_finished(self, call_id: str, status: Any, summary: str) -> None:
            super().call_finished(call_id, status, summary)
            told.set()

    person = Listening()
    provider = one_round(call("a__r"), call("a__s"))
    run(provider, Bench(a__r=("read", waits), a__s=("read", fails)), Setting(person=person))
    assert texts(provider) == ["fine", "The call failed."]


@pytest.mark.parametrize("fault", [ConnectionError, SystemExit])
def test_an_end_that_cannot_be_shown_is_tried_once_and_fails_no_turn(
    fault: type[BaseException],
) -> None:
    class Deaf(Person):
        def call_finished(self, call_id: str, status: Any, summary: str) -> None:
            super().call_finished(call_id, status, summary)
            raise fault

    person = Deaf()
    provider = one_round(call("a__b"))
    assert run(provider, Bench(a__b=("read", lambda _: "x")), Setting(person=person)) == "done"
    assert person.of("finished") == [("finished", "a__b", "ok", "x")]
    if fault is ConnectionError:
        assert texts(provider) == ["x"]


def test_an_unknown_tool_is_neither_asked_for_nor_sent() -> None:
    person = Person()
    provider = one_round(call("a__nothing"), call("x" * 500))
    hub = Bench(a__b=("read", lambda _: "x"))
    assert run(provider, hub, Setting(person=person)) == "done"
    assert texts(provider) == ["There is no tool a__nothing.", f"There is no tool {'x' * 100}."]
    assert all(answer.is_error for answer in answers(provider))
    assert (hub.calls, person.uses, person.of("finished")) == ([], [], [])


def test_an_effect_tool_does_not_exist_without_the_level() -> None:
    provider = one_round(call("a__write"))
    hub = Bench(a__read=("read", lambda _: "x"), a__write=("effect", lambda _: "x"))
    run(provider, hub, Setting(tools=None))
    assert [tool.name for tool in provider.requests[0].tools] == ["a__read"]
    assert texts(provider) == ["There is no tool a__write."]
    assert hub.calls == []


def test_the_level_goes_with_every_call() -> None:
    hub = Bench(a__b=("read", lambda _: "x"))
    run(one_round(call("a__b")), hub, Setting(tools="effect"))
    run(one_round(call("a__b")), hub, Setting(tools=None))
    assert hub.levels == ["effect", None]


def test_arguments_that_could_not_be_read_are_not_run() -> None:
    person = Person()
    provider = one_round({"name": "a__b", "arguments": "{broken"})
    hub = Bench(a__b=("read", lambda _: "x"))
    assert run(provider, hub, Setting(person=person)) == "done"
    assert answers(provider)[0].text.startswith("The call was not run: ")
    assert answers(provider)[0].is_error
    assert (hub.calls, person.uses) == ([], [])


def test_a_model_without_visible_tools_is_called_once_without_any() -> None:
    provider = ScriptedProvider(["done"])
    assert run(provider, Bench(a__w=("effect", lambda _: "x")), Setting(tools=None)) == "done"
    assert provider.requests[0].tools == ()


# -- limits ----------------------------------------------------------------------------------------


def test_the_ninth_model_call_is_not_made() -> None:
    setting = Setting()
    provider = ScriptedProvider([{"tool_calls": [call("a__b")]}])
    hub = Bench(a__b=("read", lambda _: "x"))
    with pytest.raises(TurnFailed) as failed:
        run(provider, hub, setting)
    assert failed.value.reason == "tool_loop_limit"
    assert len(provider.requests) == 8
    assert len(hub.calls) == 7, "what the eighth answer asks for could not be told to anyone"
    assert setting.facts.tool_calls == 8


def test_an_answer_at_the_eighth_call_is_in_time() -> None:
    provider = ScriptedProvider([{"tool_calls": [call("a__b")]}] * 7 + ["done"])
    assert run(provider, Bench(a__b=("read", lambda _: "x"))) == "done"


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_cut_by_the_limit_of_tokens_is_never_run(stop_reason: str) -> None:
    setting = Setting()
    step = {"text": "let me", "tool_calls": [call("a__b")], "stop_reason": stop_reason}
    hub = Bench(a__b=("read", lambda _: "x"))
    assert run(ScriptedProvider([step]), hub, setting) == "let me"
    assert hub.calls == []
    assert setting.facts.stop_reason == stop_reason
    assert setting.facts.warnings == ("truncated_tool_call",)
    assert setting.facts.tool_calls == 0


def test_tools_asked_for_under_another_stop_reason_are_run() -> None:
    # Ollama says `stop` with tool calls.
    step = {"tool_calls": [call("a__b")], "stop_reason": "end_turn"}
    hub = Bench(a__b=("read", lambda _: "x"))
    assert run(ScriptedProvider([step, "done"]), hub) == "done"
    assert len(hub.calls) == 1


# -- order -----------------------------------------------------------------------------------------


class Watch:
    """How many calls run at once, at the most."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.log: list[str] = []

    def step(self, name: str, turns: int = 3) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        self.log.append(f"+{name}")
        for _ in range(turns):
            pause()
        self.log.append(f"-{name}")
        self.running -= 1
        return name


def test_reads_run_together_and_answer_in_the_models_order() -> None:
    last_is_in = Event()

    def reads(arguments: Mapping[str, Any]) -> str:
        if arguments["n"] == 3:
            last_is_in.set()
        assert last_is_in.wait(5), "the calls do not run together"
        return str(arguments["n"])

    provider = one_round(*(call("a__r", n=n) for n in range(4)))
    run(provider, Bench(a__r=("read", reads)))
    assert texts(provider) == ["0", "1", "2", "3"]


def test_no_more_than_eight_reads_run_at_once() -> None:
    watch = Watch()
    provider = one_round(*(call("a__r", n=n) for n in range(30)))
    run(provider, Bench(a__r=("read", lambda arguments: watch.step(str(arguments["n"])))))
    assert watch.most == 8
    assert texts(provider) == [str(n) for n in range(30)]


def test_of_very_many_calls_in_one_answer_the_first_sixty_four_run() -> None:
    watch = Watch()
    provider = one_round(*(call("a__r", n=n) for n in range(5000)))
    run(provider, Bench(a__r=("read", lambda arguments: watch.step(str(arguments["n"])))))
    told = texts(provider)
    assert told[:64] == [str(n) for n in range(64)]
    assert set(told[64:]) == {"The call was not run: one answer may ask for 64 calls."}
    assert (len(told), len(watch.log)) == (5000, 2 * 64)


def test_effects_run_one_after_another_in_the_models_order() -> None:
    watch = Watch()
    provider = one_round(*(call("a__w", n=n) for n in range(4)))
    run(provider, Bench(a__w=("effect", lambda arguments: watch.step(str(arguments["n"])))))
    assert watch.log == ["+0", "-0", "+1", "-1", "+2", "-2", "+3", "-3"]


def test_a_read_waits_for_the_effect_before_it_and_an_effect_for_the_reads() -> None:
    watch = Watch()

    def step(arguments: Mapping[str, Any]) -> str:
        return watch.step(arguments["n"])

    provider = one_round(
        call("a__r", n="r1"),
        call("a__r", n="r2"),
        call("a__w", n="w"),
        call("a__r", n="r3"),
        call("a__r", n="r4"),
    )
    run(provider, Bench(a__r=("read", step), a__w=("effect", step)))
    assert watch.log[:2] == ["+r1", "+r2"]
    assert watch.log[4:6] == ["+w", "-w"]
    assert watch.log[6:8] == ["+r3", "+r4"]
    assert texts(provider) == ["r1", "r2", "w", "r3", "r4"]


def test_a_tool_loop_sends_the_prompt_and_history_unchanged() -> None:
    provider = one_round(call("a__b"))
    run(provider, Bench(a__b=("read", lambda _: "x")))
    first, second = provider.requests
    assert (first.prompt, first.history) == (second.prompt, second.history) == ("hi", ())
    assert isinstance(first, ModelRequest)
