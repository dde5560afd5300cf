"""Supervisors: order, strategies, the restart window, giving up.  Against a model, too."""

import logging
from collections.abc import Iterator
from typing import Any, Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.actors.actor import Actor, ActorRef
from mead.actors.dynamic import DynamicSupervisor, TooManyChildren
from mead.actors.exits import Exit
from mead.actors.registry import Registry
from mead.actors.supervisor import ChildSpec, RestartWindow, Strategy, Supervisor
from tests.helpers.waiting import eventually


class Child(Actor):
    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def on_start(self) -> None:
        self.log.append(f"+{self.name}")

    def on_stop(self, exit_: Exit) -> None:
        self.log.append(f"-{self.name} {exit_.kind}")

    def handle_cast(self, message: Any) -> None:
        raise ValueError(f"secret {message}")

    def handle_call(self, message: Any, reply: Any) -> Any:
        return message


class Family:
    """A supervisor over children a, b and c, and what happened to them."""

    def __init__(
        self,
        strategy: Strategy = "rest_for_one",
        max_restarts: int = 3,
        restart: Literal["permanent", "transient", "temporary"] = "permanent",
    ) -> None:
        self.log: list[str] = []
        self.ends: list[Exit] = []
        self.supervisor = Supervisor(
            "family",
            [ChildSpec(id=name, start=self._starter(name), restart=restart) for name in "abc"],
            strategy=strategy,
            max_restarts=max_restarts,
            max_seconds=5,
        )
        self.supervisor.on_end(self.ends.append)
        self.supervisor.start()

    def _starter(self, name: str) -> Any:
        return lambda: Child(name, self.log).start()

    def ref(self, name: str) -> ActorRef:
        return cast("ActorRef", self.supervisor.child(name))

    def crash(self, name: str) -> None:
        """Crash a child and wait until it is back, or everything has ended."""
        before = self.ref(name)
        before.cast("x")
        assert eventually(
            lambda: not self.supervisor.alive or self.supervisor.child(name) not in (None, before)
        )
        # The ones behind it are back as well once the last one is.
        assert eventually(
            lambda: (
                not self.supervisor.alive
                or all(
                    (ref := self.supervisor.child(id_)) is not None and ref.alive for id_ in "abc"
                )
            )
        )


@pytest.fixture
def family() -> Iterator[Family]:
    made = Family()
    yield made
    made.supervisor.stop()


def test_children_start_in_order_and_stop_in_reverse(family: Family) -> None:
    family.supervisor.stop()
    assert family.log == ["+a", "+b", "+c", "-c normal", "-b normal", "-a normal"]
    assert [exit_.kind for exit_ in family.ends] == ["normal"]


def test_rest_for_one_restarts_the_child_and_those_behind_it(family: Family) -> None:
    family.log.clear()
    family.crash("b")
    assert family.log == ["-b crashed", "-c normal", "+b", "+c"]


def test_one_for_one_restarts_the_child_alone() -> None:
    family = Family("one_for_one")
    family.log.clear()
    family.crash("b")
    assert family.log == ["-b crashed", "+b"]
    family.supervisor.stop()


def test_a_kill_is_restarted_too(family: Family) -> None:
    before = family.ref("c")
    before.kill()
    assert eventually(lambda: family.supervisor.child("c") not in (None, before))
    assert family.ref("c").call("hello") == "hello"


def test_the_supervisor_gives_up_past_its_limit(family: Family) -> None:
    for _ in range(4):
        family.crash("a")
    assert eventually(lambda: family.ends)
    assert family.ends[0].kind == "crashed"
    assert not family.supervisor.alive
    assert family.log[-3:] == ["-a crashed", "-c normal", "-b normal"]
    assert family.log.count("+a") == 4


@pytest.mark.parametrize(
    ("restart", "end", "comes_back"),
    [
        ("permanent", "crash", True),
        ("permanent", "stop", True),
        ("transient", "crash", True),
        ("transient", "stop", False),
        ("temporary", "crash", False),
        ("temporary", "stop", False),
    ],
)
def test_the_restart_setting_decides(restart: Any, end: str, comes_back: bool) -> None:
    family = Family(restart=restart)
    before = family.ref("c")
    family.log.clear()
    if end == "crash":
        before.cast("x")
    else:
        before.stop()
    assert eventually(lambda: family.supervisor.child("c") is not before)
    assert eventually(lambda: ("+c" in family.log) is comes_back)
    family.supervisor.stop()


def test_a_restart_is_logged_once_without_what_the_error_says(
    family: Family, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        family.crash("b")
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["family: b ended (ValueError) and is restarted"]


def test_a_failed_start_ends_those_that_had_started() -> None:
    log: list[str] = []

    def broken() -> Any:
        raise OSError("no")

    supervisor = Supervisor(
        "broken",
        [ChildSpec(id="a", start=Child("a", log).start), ChildSpec(id="b", start=broken)],
        strategy="rest_for_one",
        max_restarts=1,
        max_seconds=1,
    )
    with pytest.raises(OSError, match="no"):
        supervisor.start()
    assert log == ["+a", "-a normal"]


def test_a_restart_that_fails_counts_as_one_more() -> None:
    starts: list[int] = []

    def flaky() -> ActorRef:
        starts.append(1)
        if len(starts) > 1:
            raise OSError("no")
        return Child("a", []).start()

    supervisor = Supervisor(
        "flaky",
        [ChildSpec(id="a", start=flaky)],
        strategy="one_for_one",
        max_restarts=3,
        max_seconds=5,
    ).start()
    cast("ActorRef", supervisor.child("a")).kill()
    assert eventually(lambda: not supervisor.alive)
    assert len(starts) == 4


@given(st.lists(st.floats(0, 20), max_size=40), st.integers(0, 5))
def test_the_window_counts_exactly_the_restarts_of_the_last_seconds(
    gaps: list[float], limit: int
) -> None:
    window = RestartWindow(limit, 5)
    now, times = 0.0, [float("-inf")]
    for gap in gaps:
        now += gap
        times.append(now)
        recent = [moment for moment in times if now - moment <= 5]
        assert window.allows(now) is (len(recent) <= limit)


@settings(max_examples=30)
@given(
    st.sampled_from(["rest_for_one", "one_for_one"]), st.lists(st.sampled_from("abc"), max_size=6)
)
def test_any_order_of_crashes_restarts_what_the_strategy_says(
    strategy: Any, crashes: list[str]
) -> None:
    family = Family(strategy, max_restarts=100)
    family.log.clear()
    for name in crashes:
        family.crash(name)
    expected: list[str] = []
    for name in crashes:
        behind = "abc"["abc".index(name) + 1 :] if strategy == "rest_for_one" else ""
        expected += [f"-{name} crashed", *(f"-{other} normal" for other in reversed(behind))]
        expected += [f"+{other}" for other in name + behind]
    assert family.log == expected
    family.supervisor.stop()


def test_a_dynamic_supervisor_holds_no_more_than_it_may() -> None:
    pool: DynamicSupervisor[ActorRef] = DynamicSupervisor("pool", max_children=2)
    log: list[str] = []
    first = pool.start_child("1", Child("1", log).start)
    pool.start_child("2", Child("2", log).start)
    with pytest.raises(TooManyChildren):
        pool.start_child("3", Child("3", log).start)
    first.kill()
    assert eventually(lambda: pool.get("1") is None)
    pool.start_child("3", Child("3", log).start)
    assert pool.stop_child("3")
    assert not pool.stop_child("3")
    assert len(pool) == 1
    pool.stop()
    assert sorted(log) == ["+1", "+2", "+3", "-1 killed", "-2 normal", "-3 normal"]
    with pytest.raises(TooManyChildren):
        pool.start_child("4", Child("4", log).start)


def test_a_registry_forgets_what_ended_and_keeps_what_took_its_place() -> None:
    registry: Registry[ActorRef] = Registry()
    first, second = Child("1", []).start(), Child("2", []).start()
    registry.register("key", first)
    registry.register("key", second)
    first.stop()
    assert registry.lookup("key") is second
    second.stop()
    assert registry.lookup("key") is None
    assert len(registry) == 0
    registry.stop()
