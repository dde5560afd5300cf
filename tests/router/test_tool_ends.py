"""How tool calls end early: cancelled one by one, or with their turn."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mead.actors.green import Event, Killed, pause
from mead.actors.tasks import Task, TaskSupervisor
from mead.protocols import ToolUse
from mead.providers.scripted import ScriptedProvider
from tests.helpers.routing import Bench, Person, Setting, make_router
from tests.helpers.waiting import eventually

CANCELLED = "The person cancelled this call."


class Blocking:
    """A tool that waits until it is let go, and says how each of its calls ended."""

    def __init__(self) -> None:
        self.started = 0
        self.release = Event()
        self.ended: list[str] = []

    def __call__(self, _: object) -> str:
        self.started += 1
        try:
            assert self.release.wait(5)
        except Killed:
            self.ended.append("killed")
            raise
        self.ended.append("returned")
        return "result"


class Scene:
    """A turn that runs in a task of its own and asks for tools."""

    def __init__(self, kind: Any = "read", calls: int = 1, person: Person | None = None) -> None:
        self.tool = Blocking()
        self.cancels: list[Callable[[], None]] = []
        self.person = person or Person(allows=self._allow)
        self.tool_tasks = TaskSupervisor("tool calls")
        self.turns = TaskSupervisor("turns")
        self.provider = ScriptedProvider([{"tool_calls": [{"name": "a__b"}] * calls}, "done"])
        self.hub = Bench(a__b=(kind, self.tool))
        self.router = make_router({"local": self.provider}, hub=self.hub, tasks=self.tool_tasks)
        self.setting = Setting(tools="effect", person=self.person)

    def _allow(self, use: ToolUse, cancel: Callable[[], None]) -> bool:
        self.cancels.append(cancel)
        return True

    def start(self) -> Task[str]:
        return self.turns.start(lambda: self.router.handle_turn((), "hi", self.setting.context))

    @property
    def told(self) -> list[str]:
        return [answer.text for answer in self.provider.requests[-1].rounds[0].answers]

    @property
    def statuses(self) -> list[str]:
        return [event[2] for event in self.person.of("finished")]


@pytest.fixture
def scenes() -> Iterator[list[Scene]]:
    made: list[Scene] = []
    yield made
    for scene in made:
        scene.turns.stop()
        scene.tool_tasks.stop()


def result(task: Task[str]) -> str | None:
    outcome = task.wait(5000)
    assert outcome is not None, "the turn does not end"
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


# -- one call --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["read", "effect"])
def test_a_cancelled_call_is_killed_and_the_model_is_told(scenes: list[Scene], kind: str) -> None:
    scene = Scene(kind)
    scenes.append(scene)
    turn = scene.start()
    eventually(lambda: scene.tool.started == 1)
    scene.cancels[0]()
    assert result(turn) == "done"
    assert scene.tool.ended == ["killed"]
    assert scene.told == [CANCELLED]
    assert scene.provider.requests[-1].rounds[0].answers[0].is_error
    assert scene.person.of("finished") == [("finished", "a__b", "cancelled", CANCELLED)]


def test_cancelling_one_call_leaves_its_neighbours_alone(scenes: list[Scene]) -> None:
    scene = Scene(calls=3)
    scenes.append(scene)
    turn = scene.start()
    eventually(lambda: scene.tool.started == 3)
    scene.cancels[1]()
    eventually(lambda: scene.statuses == ["cancelled"])
    scene.tool.release.set()
    assert result(turn) == "done"
    assert scene.told == ["result", CANCELLED, "result"]


def test_the_next_effect_runs_after_a_cancelled_one(scenes: list[Scene]) -> None:
    scene = Scene("effect", calls=2)
    scenes.append(scene)
    turn = scene.start()
    eventually(lambda: scene.tool.started == 1)
    scene.cancels[0]()
    eventually(lambda: scene.tool.started == 2)
    scene.tool.release.set()
    assert result(turn) == "done"
    assert scene.told == [CANCELLED, "result"]


def test_a_call_cancelled_while_a_person_is_asked_never_reaches_the_hub(
    scenes: list[Scene],
) -> None:
    asked: list[Callable[[], None]] = []
    never = Event()

    def wait(use: ToolUse, cancel: Callable[[], None]) -> bool:
        asked.append(cancel)
        return never.wait(5)

    scene = Scene(person=Person(allows=wait))
    scenes.append(scene)
    turn = scene.start()
    eventually(lambda: asked)
    asked[0]()
    assert result(turn) == "done"
    assert (scene.hub.calls, scene.told, scene.statuses) == ([], [CANCELLED], ["cancelled"])
    assert scene.setting.clock.depth == 0


def test_whoever_cancels_instead_of_answering_is_obeyed(scenes: list[Scene]) -> None:
    def refuse(use: ToolUse, cancel: Callable[[], None]) -> bool:
        cancel()
        return True

    scene = Scene(person=Person(allows=refuse))
    scenes.append(scene)
    assert result(scene.start()) == "done"
    assert (scene.hub.calls, scene.told, scene.statuses) == ([], [CANCELLED], ["cancelled"])


def test_a_call_cancelled_as_it_returns_has_one_end(scenes: list[Scene]) -> None:
    class Slow(Person):
        def call_finished(self, call_id: str, status: Any, summary: str) -> None:
            for _ in range(3):
                pause()
            super().call_finished(call_id, status, summary)

    scene = Scene(person=Slow(allows=lambda use, cancel: scene._allow(use, cancel)))
    scenes.append(scene)
    turn = scene.start()
    eventually(lambda: scene.tool.started == 1)
    scene.tool.release.set()
    scene.cancels[0]()
    assert result(turn) == "done"
    assert scene.statuses == ["cancelled"]
    assert scene.told == [CANCELLED]


def test_a_result_that_was_told_cannot_be_cancelled_any_more(scenes: list[Scene]) -> None:
    class Slow(Person):
        def call_finished(self, call_id: str, status: Any, summary: str) -> None:
            super().call_finished(call_id, status, summary)
            scene.cancels[0]()
            for _ in range(3):
                pause()

    scene = Scene(person=Slow(allows=lambda use, cancel: scene._allow(use, cancel)))
    scenes.append(scene)
    turn = scene.start()
    scene.tool.release.set()
    assert result(turn) == "done"
    assert (scene.told, scene.statuses) == (["result"], ["ok"])


def test_cancelling_twice_and_too_late_changes_nothing(scenes: list[Scene]) -> None:
    scene = Scene()
    scenes.append(scene)
    turn = scene.start()
    eventually(lambda: scene.tool.started == 1)
    scene.cancels[0]()
    scene.cancels[0]()
    assert result(turn) == "done"
    scene.cancels[0]()
    pause()
    assert scene.statuses == ["cancelled"]


# -- the turn --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "calls"), [("read", 3), ("read", 20), ("effect", 2)])
def test_no_call_outlives_its_turn(scenes: list[Scene], kind: str, calls: int) -> None:
    scene = Scene(kind, calls=calls)
    scenes.append(scene)
    turn = scene.start()
    at_once = min(calls, 8) if kind == "read" else 1
    eventually(lambda: scene.tool.started == at_once)
    turn.kill()
    outcome = turn.wait(5000)
    assert outcome is not None
    assert isinstance(outcome.error, Killed)
    eventually(lambda: len(scene.tool_tasks) == 0)
    assert scene.tool.ended == ["killed"] * at_once
    assert scene.statuses == [], "the turn's end closes its cards, not the call"
    assert len(scene.hub.calls) == at_once


def test_a_turn_killed_while_a_person_is_asked_leaves_nothing_running(scenes: list[Scene]) -> None:
    asked = Event()

    def wait(use: ToolUse, cancel: Callable[[], None]) -> bool:
        asked.set()
        return Event().wait(5)

    scene = Scene(person=Person(allows=wait))
    scenes.append(scene)
    turn = scene.start()
    assert asked.wait(5)
    turn.kill()
    assert turn.wait(5000) is not None
    eventually(lambda: len(scene.tool_tasks) == 0)
    assert scene.setting.clock.depth == 0
    assert scene.hub.calls == []


def test_a_finished_turn_leaves_no_task(scenes: list[Scene]) -> None:
    scene = Scene(calls=20)
    scenes.append(scene)
    scene.tool.release.set()
    assert result(scene.start()) == "done"
    eventually(lambda: len(scene.tool_tasks) == 0)
