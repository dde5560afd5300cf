"""The built-in question to the person."""

from typing import Any

import pytest

from mead.actors.green import pause
from mead.protocols import ToolAnswer
from mead.providers.scripted import ScriptedProvider
from mead.router import ask_user
from tests.helpers.routing import Bench, Person, Setting, make_router

GOOD = {"prompt": "Which one?", "options": ["red", "blue"]}


def asked(
    setting: Setting, *questions: dict[str, Any], hub: Bench | None = None
) -> tuple[ScriptedProvider, tuple[ToolAnswer, ...]]:
    """What a model is told that asks these questions at once."""
    calls = [{"name": "ask_user", "arguments": question} for question in questions]
    provider = ScriptedProvider([{"tool_calls": calls}, "done"])
    hub = hub or Bench(a__b=("read", lambda _: "x"))
    router = make_router({"local": provider}, hub=hub)
    assert router.handle_turn((), "hi", setting.context) == "done"
    return provider, provider.requests[-1].rounds[0].answers


def offered(setting: Setting, hub: Bench | None) -> list[str]:
    provider = ScriptedProvider(["done"])
    make_router({"local": provider}, hub=hub).handle_turn((), "hi", setting.context)
    return [tool.name for tool in provider.requests[0].tools]


# -- when it is offered ----------------------------------------------------------------------------


def test_it_is_offered_beside_other_tools_to_a_turn_with_a_person() -> None:
    hub = Bench(a__b=("read", lambda _: "x"))
    assert offered(Setting(person=Person()), hub) == ["a__b", "ask_user"]
    assert offered(Setting(), hub) == ["a__b"]
    assert offered(Setting(on_text=lambda _: None), hub) == ["a__b"]


def test_it_is_not_offered_alone() -> None:
    assert offered(Setting(person=Person()), None) == []
    assert offered(Setting(person=Person()), Bench()) == []
    assert offered(Setting(person=Person()), Bench(a__w=("effect", lambda _: "x"))) == []


def test_its_schema_says_what_it_takes() -> None:
    schema = ask_user.TOOL.schema
    assert schema["required"] == ["prompt", "options"]
    options = schema["properties"]["options"]
    assert (options["minItems"], options["maxItems"]) == (2, 6)
    assert "__" not in ask_user.TOOL.name


# -- what it answers -------------------------------------------------------------------------------


def test_the_option_chosen_goes_back_to_the_model() -> None:
    person = Person(chooses=lambda prompt, options: options[1])
    hub = Bench(a__b=("read", lambda _: "x"))
    setting = Setting(person=person)
    _, (answer,) = asked(setting, GOOD, hub=hub)
    assert (answer.text, answer.is_error) == ("blue", False)
    assert person.of("choose") == [("choose", "Which one?", ("red", "blue"))]
    assert (person.uses, hub.calls) == ([], []), "never gated, never sent to the hub"
    assert setting.facts.tool_calls == 1


def test_a_person_who_does_not_choose_in_time_is_no_error() -> None:
    setting = Setting(person=Person(chooses=lambda prompt, options: None))
    _, (answer,) = asked(setting, GOOD)
    assert (answer.text, answer.is_error) == ("The person did not choose in time.", False)


def test_a_turn_without_a_person_is_told_that_nobody_could_be_asked() -> None:
    _, (answer,) = asked(Setting(), GOOD)
    assert (answer.text, answer.is_error) == ("The person could not be asked.", True)


def test_a_question_that_cannot_be_shown_does_not_fail_the_turn() -> None:
    def gone(prompt: str, options: tuple[str, ...]) -> str:
        raise ConnectionError("the channel is gone")

    _, (answer,) = asked(Setting(person=Person(chooses=gone)), GOOD)
    assert (answer.text, answer.is_error) == ("The person could not be asked.", True)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prompt": None}, "prompt must be a text that is not empty"),
        ({"prompt": ""}, "prompt must be a text that is not empty"),
        ({"prompt": " \n"}, "prompt must be a text that is not empty"),
        ({"prompt": ["x"]}, "prompt must be a text that is not empty"),
        ({"prompt": "x" * 2001}, "prompt must have at most 2000 characters"),
        ({"options": None}, "options must be a list of 2 to 6 texts"),
        ({"options": "red"}, "options must be a list of 2 to 6 texts"),
        ({"options": {"red": 1, "blue": 2}}, "options must be a list of 2 to 6 texts"),
        ({"options": ["red"]}, "options must be a list of 2 to 6 texts"),
        ({"options": list("abcdefg")}, "options must be a list of 2 to 6 texts"),
        ({"options": ["red", 2]}, "options must be a list of 2 to 6 texts"),
        ({"options": ["red", " "]}, "an option must not be empty"),
        ({"options": ["red", "x" * 201]}, "an option must have at most 200 characters"),
        ({"options": ["red", "red"]}, "the options must differ"),
    ],
)
def test_bad_arguments_come_back_with_what_is_wrong(changes: dict[str, Any], fault: str) -> None:
    person = Person()
    _, (answer,) = asked(Setting(person=person), GOOD | changes)
    assert (answer.text, answer.is_error) == (f"The person could not be asked: {fault}.", True)
    assert person.of("choose") == []


@pytest.mark.parametrize("count", [2, 6])
def test_two_to_six_options_may_be_asked(count: int) -> None:
    options = [f"option {n}" for n in range(count)]
    _, (answer,) = asked(Setting(person=Person()), GOOD | {"options": options, "extra": True})
    assert answer.text == "option 0"


def test_the_clock_stands_still_while_a_person_chooses() -> None:
    setting = Setting()
    depths: list[int] = []

    def choose(prompt: str, options: tuple[str, ...]) -> str:
        depths.append(setting.clock.depth)
        return options[0]

    setting.person = Person(chooses=choose)
    asked(setting, GOOD)
    assert (depths, setting.clock.depth) == ([1], 0)


def test_questions_are_asked_one_after_another_and_between_the_calls_around_them() -> None:
    def choose(prompt: str, options: tuple[str, ...]) -> str:
        for _ in range(3):
            pause()
        person.events.append(("chosen",))
        return options[0]

    person = Person(chooses=choose)
    calls = [
        {"name": "a__b"},
        {"name": "ask_user", "arguments": GOOD},
        {"name": "ask_user", "arguments": GOOD | {"prompt": "And now?"}},
        {"name": "a__b"},
    ]
    provider = ScriptedProvider([{"tool_calls": calls}, "done"])
    router = make_router({"local": provider}, hub=Bench(a__b=("read", lambda _: "x")))
    router.handle_turn((), "hi", Setting(person=person).context)
    kinds = [event[0] for event in person.events if event[0] not in ("routed", "text")]
    assert kinds == [
        *("asked", "finished", "choose", "chosen", "choose", "chosen", "asked", "finished"),
    ]


def test_a_server_cannot_take_its_place() -> None:
    hub = Bench(ask_user=("read", lambda _: "stolen"), a__b=("read", lambda _: "x"))
    _, (answer,) = asked(Setting(person=Person()), GOOD, hub=hub)
    assert answer.text == "red"
    assert hub.calls == []
