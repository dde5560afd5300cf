"""`signals.route`: what a routed turn cost, told once when it has ended."""

from collections.abc import Iterator
from typing import Any

import pytest

from mead import signals
from mead.actors.green import Event
from mead.actors.tasks import TaskSupervisor
from mead.errors import TurnFailed
from mead.protocols import ModelReply, ModelRequest
from mead.providers.scripted import ScriptedProvider
from tests.helpers.routing import Bench, Setting, make_router

SENDER = object()
NOTHING_SPENT = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
    "tool_calls": 0,
}
CALL = [{"name": "a__b"}]


@pytest.fixture
def events() -> Iterator[list[dict[str, Any]]]:
    """The route events of SENDER; those of other runtimes are not in here."""
    heard: list[dict[str, Any]] = []

    def receive(sender: object, **fields: object) -> None:
        heard.append(fields)

    with signals.route.connected_to(receive, sender=SENDER):
        yield heard


def router(provider: Any, **options: Any) -> Any:
    hub = Bench(a__b=("read", lambda _: "x"))
    return make_router({"local": provider}, hub=hub, sender=SENDER, **options)


def without_time(event: dict[str, Any]) -> dict[str, Any]:
    duration_ms = event.pop("duration_ms")
    assert isinstance(duration_ms, float)
    assert duration_ms > 0
    return event


def test_a_turn_emits_its_sums_once(events: list[dict[str, Any]]) -> None:
    usage = {"input": 10, "output": 2, "cache_read": 3, "cache_write": 4}
    steps = [{"tool_calls": CALL * 2, "usage": usage}, {"text": "x", "usage": usage}]
    setting = Setting(session_id="s-1")
    router(ScriptedProvider(steps, model="m")).handle_turn((), "hi", setting.context)
    (event,) = events
    assert without_time(event) == {
        "input_tokens": 20,
        "output_tokens": 4,
        "cache_read_tokens": 6,
        "cache_write_tokens": 8,
        "tool_calls": 2,
        "route": "local",
        "route_source": "forced",
        "provider": "scripted",
        "model": "m",
        "status": "ok",
        "session_id": "s-1",
    }


def test_an_empty_slot_is_an_event_too(events: list[dict[str, Any]]) -> None:
    with pytest.raises(TurnFailed):
        router(ScriptedProvider(["x"])).handle_turn((), "hi", Setting(route="cloud").context)
    (event,) = events
    assert without_time(event) == NOTHING_SPENT | {
        "route": "cloud",
        "route_source": "forced",
        "provider": None,
        "model": None,
        "status": "error",
        "session_id": None,
    }


def test_a_first_call_that_fails_cost_nothing(events: list[dict[str, Any]]) -> None:
    with pytest.raises(TurnFailed):
        router(ScriptedProvider([{"error": "overloaded"}])).handle_turn((), "hi", Setting().context)
    (event,) = events
    assert event["status"] == "error"
    assert NOTHING_SPENT.items() <= event.items()


def test_what_was_spent_before_a_failure_counts(events: list[dict[str, Any]]) -> None:
    steps = [{"tool_calls": CALL, "usage": {"input": 7}}, {"error": "overloaded"}]
    with pytest.raises(TurnFailed):
        router(ScriptedProvider(steps)).handle_turn((), "hi", Setting().context)
    (event,) = events
    assert (event["status"], event["input_tokens"], event["output_tokens"]) == ("error", 7, 0)
    assert event["tool_calls"] == 1


def test_the_limit_of_the_loop_is_a_failure_with_its_whole_cost(
    events: list[dict[str, Any]],
) -> None:
    steps = [{"tool_calls": CALL, "usage": {"output": 1}}]
    with pytest.raises(TurnFailed):
        router(ScriptedProvider(steps)).handle_turn((), "hi", Setting().context)
    (event,) = events
    assert (event["status"], event["output_tokens"], event["tool_calls"]) == ("error", 8, 8)


@pytest.mark.parametrize(
    ("asked", "default", "source"),
    [("local", "auto", "forced"), (None, "local", "default"), ("auto", "local", "classified")],
)
def test_the_event_says_who_chose_the_route(
    events: list[dict[str, Any]], asked: Any, default: Any, source: str
) -> None:
    made = router(ScriptedProvider(["x"]), default_route=default)
    made.handle_turn((), "list files", Setting(route=asked).context)
    assert [event["route_source"] for event in events] == [source]


def test_a_provider_that_crashes_emits_nothing(events: list[dict[str, Any]]) -> None:
    def crash(request: ModelRequest) -> str:
        raise ValueError("a text that nobody may see")

    with pytest.raises(ValueError, match="nobody may see"):
        router(ScriptedProvider(crash)).handle_turn((), "hi", Setting().context)
    assert events == []


def test_a_killed_turn_emits_nothing(events: list[dict[str, Any]]) -> None:
    asked = Event()

    def wait(request: ModelRequest) -> str:
        asked.set()
        Event().wait(5)
        return "late"

    turns = TaskSupervisor("turns")
    made = router(ScriptedProvider(wait))
    task = turns.start(lambda: made.handle_turn((), "hi", Setting().context))
    assert asked.wait(5)
    task.kill()
    assert task.wait(5000) is not None
    assert events == []


def test_the_event_is_the_senders_alone(events: list[dict[str, Any]]) -> None:
    other = make_router({"local": ScriptedProvider(["x"])}, sender=object())
    other.handle_turn((), "hi", Setting().context)
    assert events == []


def test_a_receiver_that_raises_does_not_reach_the_turn(events: list[dict[str, Any]]) -> None:
    def broken(sender: object, **fields: object) -> None:
        raise RuntimeError

    with signals.route.connected_to(broken, sender=SENDER):
        output = router(ScriptedProvider(["x"])).handle_turn((), "hi", Setting().context)
    assert output == "x"
    assert len(events) == 1


class Crashing:
    """A provider whose answer is no answer."""

    name = "garbage"
    model = "m"
    host = None

    def complete(self, request: ModelRequest) -> ModelReply:
        return {"text": "x"}  # pyright: ignore


def test_a_garbage_answer_emits_nothing(events: list[dict[str, Any]]) -> None:
    with pytest.raises(AttributeError):
        router(Crashing()).handle_turn((), "hi", Setting().context)
    assert events == []
