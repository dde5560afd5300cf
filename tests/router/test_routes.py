"""Which slot a turn goes to, what its model is shown, and what is known of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from mead.config import ClassifierSettings
from mead.errors import TurnFailed
from mead.protocols import Exchange, ModelReply, ModelRequest
from mead.providers.scripted import ScriptedProvider
from mead.router.router import DEFAULT, FORCED
from mead.turn import Route, TurnFacts, TurnStatus, Usage
from tests.helpers.routing import Bench, Person, Setting, make_router, turn

ROUTINE = "list files"
REASONING = "Why is the sky blue?"


def both() -> dict[Route, ScriptedProvider]:
    return {
        "local": ScriptedProvider(["from local"], model="small"),
        "cloud": ScriptedProvider(["from cloud"], model="large"),
    }


# -- the slot --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "output", "reason"),
    [
        (ROUTINE, "from local", "asks for a lookup"),
        (REASONING, "from cloud", "asks for reasoning: why"),
    ],
)
@pytest.mark.parametrize("asked", ["auto", None])
def test_a_turn_is_classified_and_says_why(text: str, output: str, reason: str, asked: Any) -> None:
    setting = Setting(route=asked)
    assert make_router(both()).handle_turn((), text, setting.context) == output
    facts = setting.facts
    assert (facts.route_source, facts.route_reason) == ("classified", reason)
    assert facts.route == output.removeprefix("from ")
    assert facts.model == {"local": "small", "cloud": "large"}[facts.route]


@pytest.mark.parametrize("route", ["local", "cloud"])
@pytest.mark.parametrize("text", [ROUTINE, REASONING])
def test_a_forced_route_is_obeyed_whatever_the_text(route: Route, text: str) -> None:
    setting = Setting(route=route)
    router = make_router(both(), default_route="cloud" if route == "local" else "local")
    assert router.handle_turn((), text, setting.context) == f"from {route}"
    assert (setting.facts.route_source, setting.facts.route_reason) == ("forced", FORCED)


def test_the_default_route_serves_who_asks_for_none() -> None:
    setting = Setting(route=None)
    router = make_router(both(), default_route="local")
    assert router.handle_turn((), REASONING, setting.context) == "from local"
    assert (setting.facts.route_source, setting.facts.route_reason) == ("default", DEFAULT)


def test_who_asks_for_auto_is_classified_whatever_the_default() -> None:
    setting = Setting(route="auto")
    router = make_router(both(), default_route="local")
    assert router.handle_turn((), REASONING, setting.context) == "from cloud"
    assert setting.facts.route_source == "classified"


def test_the_operators_words_and_limits_reach_the_classifier() -> None:
    settings = ClassifierSettings(local_words=("frobnicate",), maximum_characters=12)
    router = make_router(both(), classifier=settings)
    assert router.handle_turn((), "Frobnicate", Setting(route=None).context) == "from local"
    assert router.handle_turn((), "Frobnicate it all", Setting(route=None).context) == "from cloud"


@pytest.mark.parametrize(("route", "other"), [("local", "cloud"), ("cloud", "local")])
@pytest.mark.parametrize("forced", [True, False])
def test_a_turn_for_an_empty_slot_fails_and_nothing_is_sent_anywhere(
    route: Route, other: Route, forced: bool
) -> None:
    filled = both()[other]
    person = Person()
    setting = Setting(route=route if forced else "auto", person=person)
    text = ROUTINE if route == "local" else REASONING
    router = make_router({other: filled}, hub=Bench(a__b=("read", lambda _: "x")))
    with pytest.raises(TurnFailed) as failed:
        router.handle_turn((), text, setting.context)
    assert failed.value.reason == f"{route}_unavailable"
    assert f"router.slots.{route}" in failed.value.message
    assert not filled.requests
    assert (setting.facts.route, setting.facts.provider) == (route, None)
    assert person.events == [("routed", setting.facts)]


def test_a_failing_provider_is_not_replaced_by_the_other_slot() -> None:
    slots = both()
    slots["local"] = ScriptedProvider([{"error": "overloaded"}])
    with pytest.raises(TurnFailed) as failed:
        make_router(slots).handle_turn((), ROUTINE, Setting(route="auto").context)
    assert failed.value.reason == "overloaded"
    assert not slots["cloud"].requests


# -- what the model is shown -----------------------------------------------------------------------


def test_only_completed_turns_with_a_text_are_replayed() -> None:
    history = [
        turn("one", "first"),
        turn("two", None, TurnStatus.FAILED),
        turn("three", "half", TurnStatus.CANCELLED),
        turn("four", None, TurnStatus.TIMEOUT),
        turn("five", None, TurnStatus.INTERRUPTED),
        turn("six", ""),
        turn("seven", " \n"),
        turn("eight", "second"),
    ]
    provider = ScriptedProvider(["done"])
    make_router({"local": provider}).handle_turn(history, "nine", Setting().context)
    (request,) = provider.requests
    assert request == ModelRequest(
        history=(
            Exchange(prompt="one", answer="first"),
            Exchange(prompt="eight", answer="second"),
        ),
        prompt="nine",
    )


def test_the_size_of_what_is_replayed_weighs_on_the_route() -> None:
    router = make_router(both())
    light = [turn("a", "b")] * 20
    assert router.handle_turn(light, ROUTINE, Setting(route=None).context) == "from local"
    long = [*light, turn("a", "b")]
    assert router.handle_turn(long, ROUTINE, Setting(route=None).context) == "from cloud"
    failed = [*light, *[turn("a" * 9000, None, TurnStatus.FAILED)] * 5]
    assert router.handle_turn(failed, ROUTINE, Setting(route=None).context) == "from local"
    heavy = [turn("a" * 4001, "b" * 4000)]
    setting = Setting(route=None)
    assert router.handle_turn(heavy, ROUTINE, setting.context) == "from cloud"
    assert setting.facts.route_reason == "history longer than 8000 characters"


class Plain:
    """A provider that can neither stream nor use tools."""

    name = "plain"
    model = "m"
    host = None

    def __init__(self, *replies: ModelReply) -> None:
        self.replies = list(replies)
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return self.replies.pop(0)


def test_a_provider_without_tools_is_asked_plainly_though_there_are_tools() -> None:
    provider = Plain(ModelReply(text="ok", stop_reason="end_turn"))
    router = make_router({"local": provider}, hub=Bench(a__b=("read", lambda _: "x")))
    setting = Setting(person=Person())
    assert router.handle_turn((), "hi", setting.context) == "ok"
    assert provider.requests == [ModelRequest(history=(), prompt="hi")]


# -- what is known of the turn ---------------------------------------------------------------------


class Networked(ScriptedProvider):
    """A scripted provider that names the address it called."""

    host = "127.0.0.1:1"  # pyright: ignore

    def converse_stream(self, request: ModelRequest, on_text: Any) -> ModelReply:
        reply = super().converse_stream(request, on_text)
        self.host = "127.0.0.1:2"
        return reply


def test_the_facts_are_told_before_the_model_is_called() -> None:
    person = Person()
    setting = Setting(person=person)
    seen: list[Any] = []

    def step(request: ModelRequest) -> str:
        seen.extend([list(setting.reports), list(person.events)])
        return "done"

    make_router({"local": Networked(step, model="m")}).handle_turn((), "hi", setting.context)
    expected = TurnFacts(
        route="local",
        route_source="forced",
        route_reason=FORCED,
        provider="scripted",
        model="m",
        host="127.0.0.1:1",
    )
    assert seen == [[expected], [("routed", expected)]]


def test_the_address_that_was_really_called_is_kept() -> None:
    setting = Setting()
    make_router({"local": Networked(["x"])}).handle_turn((), "hi", setting.context)
    assert setting.facts.host == "127.0.0.1:2"


def ask(name: str, **arguments: Any) -> Mapping[str, Any]:
    return {"name": name, "arguments": arguments}


def test_usage_and_tool_calls_add_up_over_the_calls_and_the_last_stop_reason_counts() -> None:
    steps = [
        {"tool_calls": [ask("a__b"), ask("a__b")], "usage": {"input": 10, "output": 1}},
        {"tool_calls": [ask("a__b")], "usage": {"input": 20, "output": 2, "cache_read": 5}},
        {"text": "done", "stop_reason": "stop_sequence"},
    ]
    setting = Setting()
    router = make_router(
        {"local": ScriptedProvider(steps)}, hub=Bench(a__b=("read", lambda _: "x"))
    )
    router.handle_turn((), "hi", setting.context)
    facts = setting.facts
    assert facts.usage == Usage(input=30, output=3, cache_read=5)
    assert facts.tool_calls == 3
    assert facts.stop_reason == "stop_sequence"
    assert [each.tool_calls for each in setting.reports] == [0, 2, 3, 3]


def test_what_was_spent_stays_known_when_the_turn_fails_later() -> None:
    steps = [
        {"tool_calls": [ask("a__b")], "usage": {"input": 10, "output": 1}},
        {"error": "provider_timeout"},
    ]
    setting = Setting()
    router = make_router(
        {"local": ScriptedProvider(steps)}, hub=Bench(a__b=("read", lambda _: "x"))
    )
    with pytest.raises(TurnFailed):
        router.handle_turn((), "hi", setting.context)
    assert setting.facts.usage == Usage(input=10, output=1)
    assert setting.facts.tool_calls == 1


def test_usage_that_no_call_told_is_unknown() -> None:
    setting = Setting()
    make_router({"local": ScriptedProvider(["x"])}).handle_turn((), "hi", setting.context)
    assert setting.facts.usage is None


def test_each_warning_is_kept_once() -> None:
    reply = ModelReply(text="x", stop_reason="end_turn", warnings=("truncated_prompt",) * 2)
    setting = Setting()
    make_router({"local": Plain(reply)}).handle_turn((), "hi", setting.context)
    assert setting.facts.warnings == ("truncated_prompt",)


def test_an_answer_cut_by_max_tokens_is_an_answer() -> None:
    setting = Setting()
    provider = ScriptedProvider([{"text": "half", "stop_reason": "max_tokens"}])
    assert make_router({"local": provider}).handle_turn((), "hi", setting.context) == "half"
    assert setting.facts.stop_reason == "max_tokens"
    assert setting.facts.warnings == ()
