"""Permission for tool calls, and what a person is told of them."""

from collections.abc import Callable

from mead.actors.green import Event
from mead.ids import is_uuid4
from mead.protocols import ToolOutcome, ToolUse
from mead.providers.scripted import ScriptedProvider
from tests.helpers.routing import Bench, Person, Setting, answers, call, one_round, run, texts


def test_every_call_is_asked_for_and_told_to_have_ended() -> None:
    person = Person()
    hub = Bench(
        a__r=("read", lambda _: "read"),
        a__w=("effect", lambda _: ToolOutcome(text="bad", is_error=True)),
    )
    run(one_round(call("a__r", q=1), call("a__w")), hub, Setting(tools="effect", person=person))
    assert [event for event in person.events if event[0] in ("asked", "finished")] == [
        ("asked", "a__r"),
        ("finished", "a__r", "ok", "read"),
        ("asked", "a__w"),
        ("finished", "a__w", "error", "bad"),
    ]
    use = person.uses[0]
    assert (use.server, use.tool, use.kind, use.arguments) == ("a", "r", "read", {"q": 1})


def test_people_are_shown_uuids_and_never_the_providers_ids() -> None:
    person = Person()
    hub = Bench(a__r=("read", lambda _: "x"))
    step = {"tool_calls": [{"name": "a__r", "id": "toolu_1"}, {"name": "a__r", "id": "toolu_1"}]}
    run(ScriptedProvider([step, "done"]), hub, Setting(person=person))
    ids = {use.call_id for use in person.uses}
    assert len(ids) == 2
    assert all(is_uuid4(call_id) for call_id in ids)


def test_a_denied_call_never_reaches_the_hub() -> None:
    person = Person(allows=lambda use, cancel: use.name != "a__w")
    hub = Bench(a__r=("read", lambda _: "x"), a__w=("effect", lambda _: "x"))
    provider = one_round(call("a__w"), call("a__r"))
    run(provider, hub, Setting(tools="effect", person=person))
    assert [name for name, _ in hub.calls] == ["a__r"]
    denied = "The person did not allow this call."
    assert (answers(provider)[0].text, answers(provider)[0].is_error) == (denied, True)
    assert ("finished", "a__w", "denied", denied) in person.events


def test_a_person_who_cannot_be_asked_has_not_allowed_it() -> None:
    def gone(use: ToolUse, cancel: Callable[[], None]) -> bool:
        raise ConnectionError("the channel is gone")

    person = Person(allows=gone)
    hub = Bench(a__w=("effect", lambda _: "x"))
    provider = one_round(call("a__w"))
    assert run(provider, hub, Setting(tools="effect", person=person)) == "done"
    assert hub.calls == []
    assert person.of("finished") == [("finished", "a__w", "failed", "The call failed.")]


def test_the_clock_stands_still_while_a_person_is_asked_and_no_longer() -> None:
    depths: dict[str, int] = {}
    setting = Setting()

    def asked(use: ToolUse, cancel: Callable[[], None]) -> bool:
        depths["asked"] = setting.clock.depth
        return True

    def called(_: object) -> str:
        depths["called"] = setting.clock.depth
        return "x"

    setting.person = Person(allows=asked)
    run(one_round(call("a__b")), Bench(a__b=("read", called)), setting)
    assert depths == {"asked": 1, "called": 0}
    assert setting.clock.depth == 0


def test_pauses_of_calls_that_wait_together_nest() -> None:
    setting = Setting()
    deepest = 0
    all_asked = Event()

    def asked(use: ToolUse, cancel: Callable[[], None]) -> bool:
        nonlocal deepest
        deepest = max(deepest, setting.clock.depth)
        if setting.clock.depth == 3:
            all_asked.set()
        return all_asked.wait(5)

    setting.person = Person(allows=asked)
    provider = one_round(*[call("a__b")] * 3)
    run(provider, Bench(a__b=("read", lambda _: "x")), setting)
    assert (deepest, setting.clock.depth) == (3, 0)


def test_a_summary_is_cut_and_the_models_result_is_not() -> None:
    person = Person()
    provider = one_round(call("a__b"))
    run(provider, Bench(a__b=("read", lambda _: "é" * 2001)), Setting(person=person))
    assert person.of("finished")[0][3] == "é" * 2000
    assert texts(provider) == ["é" * 2001]


def test_without_a_person_calls_run_unasked() -> None:
    setting = Setting(tools="effect")
    hub = Bench(a__w=("effect", lambda _: "x"))
    assert run(one_round(call("a__w")), hub, setting) == "done"
    assert len(hub.calls) == 1
    assert setting.clock.pauses == 0


def test_a_watcher_without_a_say_is_not_asked() -> None:
    hub = Bench(a__w=("effect", lambda _: "x"))
    setting = Setting(tools="effect", on_text=lambda _: None)
    provider = one_round(call("a__w"))
    assert run(provider, hub, setting) == "done"
    assert [tool.name for tool in provider.requests[0].tools] == ["a__w"]
