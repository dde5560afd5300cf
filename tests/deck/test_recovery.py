"""What a new channel adds to its log: each rule by itself, then with channels that die."""

from dataclasses import replace
from datetime import timedelta

import pytest
from gevent.event import Event

from mead.deck import builders
from mead.deck.endings import whole
from mead.deck.fold import KNOWN_PROMPTS
from mead.deck.recovery import recover
from mead.errors import SessionCrashed
from mead.ids import new_turn_id
from mead.protocols import ToolUse
from mead.turn import Turn, TurnFacts, TurnFault, TurnStatus, Usage, iso_ms, utc_now
from tests.deck.conftest import opened
from tests.deck.device import text_of
from tests.deck.doors import call
from tests.deck.story import AT, folded, numbered
from tests.helpers.waiting import eventually

FACTS = TurnFacts(
    route="local",
    route_source="forced",
    provider="scripted",
    model="m",
    usage=Usage(input=5, output=6),
    stop_reason="end_turn",
)


def accepted(turn_id: str, text: str = "hi", at: str | None = None):
    return builders.prompt_accepted(
        client_message_id=f"m-{turn_id}",
        turn_id=turn_id,
        text=text,
        route=None,
        origin="deck",
        at=at or iso_ms(utc_now()),
    )


def stored(turn_id: str, status: TurnStatus, output: str | None = None) -> Turn:
    turn = Turn(id=turn_id, input="hi", started_at=utc_now(), facts=FACTS)
    if status is TurnStatus.RUNNING:
        return turn
    error = None if output is not None else TurnFault(code=status.value, message="because")
    return turn.closed(status, output=output, error=error)


def missing(events, history, limit=10_000):
    """What is added to a log of these events, and the state that it then comes to."""
    state = folded(numbered(events))
    added = recover(state, history, utc_now(), limit)
    folded(numbered(added, state.last_sequence + 1), state)
    return added, state


def types(events) -> list[str]:
    return [event.type for event in events]


@pytest.fixture
def turn_id() -> str:
    return new_turn_id()


def test_a_log_that_lacks_nothing_gets_nothing(turn_id):
    events = [accepted(turn_id), builders.turn_started(turn_id)]
    events += [builders.turn_completed(turn_id, None, 1), *builders.metrics(turn_id, 1, 1)]
    assert missing(events, [stored(turn_id, TurnStatus.COMPLETED, "x")])[0] == []


def test_a_started_turn_that_the_history_does_not_know_was_interrupted(turn_id):
    added, state = missing([accepted(turn_id), builders.turn_started(turn_id)], [])
    assert types(added) == ["turn.failed", "metric.updated", "metric.updated"]
    assert added[0].payload["reason"] == "interrupted"
    assert state.is_idle


def test_a_started_turn_that_the_history_has_closed_gets_its_real_ending(turn_id):
    events = [accepted(turn_id), builders.turn_started(turn_id)]
    events += builders.text_deltas(turn_id, "Hello, ")
    added, _ = missing(events, [stored(turn_id, TurnStatus.COMPLETED, "Hello, world")])
    assert types(added) == ["text.delta", "turn.completed", "metric.updated", "metric.updated"]
    assert added[0].payload["text"] == "world"
    assert [event.payload.get("value") for event in added[2:]] == [5, 6]


@pytest.mark.parametrize(
    "status", [TurnStatus.FAILED, TurnStatus.TIMEOUT, TurnStatus.CANCELLED, TurnStatus.INTERRUPTED]
)
def test_a_turn_that_ended_without_an_answer_says_so(turn_id, status):
    events = [accepted(turn_id), builders.turn_started(turn_id)]
    added, _ = missing(events, [stored(turn_id, status)])
    assert added[0].payload == {"turn_id": turn_id, "reason": status.value, "message": "because"}


def test_open_cards_and_requests_are_closed_first(turn_id):
    use = ToolUse(
        call_id=new_turn_id(), server="a", tool="b", name="a__b", kind="effect", arguments={}
    )
    question = builders.choice_requested(turn_id, "Which?", ["x", "y"], AT)
    events = [accepted(turn_id), builders.turn_started(turn_id)]
    events += [builders.tool_call_started(turn_id, use, {}), question]
    events += [builders.permission_requested(turn_id, use, {}, AT)]
    added, state = missing(events, [])
    assert types(added) == [
        "choice.resolved",
        "permission.resolved",
        "tool_call.finished",
        "turn.failed",
        "metric.updated",
        "metric.updated",
    ]
    assert added[0].payload["option"] is None
    assert added[1].payload["outcome"] == "expired"
    assert added[2].payload["status"] == "failed"
    assert not state.pending


@pytest.mark.parametrize("written", [0, 1])
def test_an_ending_that_was_half_written_is_made_whole(turn_id, written):
    events = [accepted(turn_id), builders.turn_started(turn_id)]
    events += [builders.turn_completed(turn_id, None, 1)]
    events += builders.metrics(turn_id, 5, 6)[:written]
    added, state = missing(events, [stored(turn_id, TurnStatus.COMPLETED, "x")])
    assert [event.payload["name"] for event in added] == ["tokens_in", "tokens_out"][written:]
    assert state.is_idle


def test_a_turn_between_two_that_the_log_knows_is_added(turn_id):
    first, between, last = (stored(new_turn_id(), TurnStatus.COMPLETED, "x") for _ in range(3))
    unlogged = stored(new_turn_id(), TurnStatus.COMPLETED, "older than the log")
    events = []
    for turn in (first, last):
        events += [accepted(turn.id), *whole(turn)]
    added, state = missing(events, [unlogged, first, between, last])
    assert [each.payload["turn_id"] for each in added if each.type == "turn.started"] == [
        between.id
    ]
    assert state.is_idle
    assert recover(state, [unlogged, first, between, last], utc_now(), 10_000) == []


def test_a_prompt_that_never_started_is_left_to_run(turn_id):
    added, state = missing([accepted(turn_id)], [])
    assert added == []
    assert list(state.queue) == [turn_id]


def test_a_prompt_whose_turn_is_in_the_history_never_runs_again(turn_id):
    added, state = missing([accepted(turn_id)], [stored(turn_id, TurnStatus.COMPLETED, "x")])
    assert types(added) == [
        "turn.started",
        "turn.routed",
        "text.delta",
        "turn.completed",
        "metric.updated",
        "metric.updated",
    ]
    assert state.is_idle


@pytest.mark.parametrize(("minutes", "cancelled"), [(59, False), (61, True)])
def test_a_prompt_of_more_than_an_hour_ago_is_stale(turn_id, minutes, cancelled):
    then = iso_ms(utc_now() - timedelta(minutes=minutes))
    added, _ = missing([accepted(turn_id, at=then)], [])
    assert [event.payload["reason"] for event in added] == (["stale"] if cancelled else [])


def test_turns_made_through_another_door_meanwhile_are_added_whole():
    first, second, third = new_turn_id(), new_turn_id(), new_turn_id()
    events = [accepted(first), builders.turn_started(first)]
    events += [builders.turn_completed(first, None, 1), *builders.metrics(first, 1, 1)]
    history = [
        stored(first, TurnStatus.COMPLETED, "1"),
        stored(second, TurnStatus.COMPLETED, "2"),
        stored(third, TurnStatus.FAILED),
    ]
    added, state = missing(events, history)
    assert types(added) == [
        "prompt.accepted",
        "turn.started",
        "turn.routed",
        "text.delta",
        "turn.completed",
        "metric.updated",
        "metric.updated",
        "prompt.accepted",
        "turn.started",
        "turn.routed",
        "turn.failed",
        "metric.updated",
        "metric.updated",
    ]
    assert added[0].payload["origin"] == "api"
    assert added[0].at == iso_ms(history[1].started_at)
    assert state.is_idle


def test_a_turn_whose_id_the_log_has_forgotten_is_not_added_again(turn_id):
    forgotten = stored(turn_id, TurnStatus.COMPLETED, "old")
    events = [accepted(turn_id), builders.turn_started(turn_id), *whole(forgotten)[-3:]]
    for _ in range(KNOWN_PROMPTS):
        other = new_turn_id()
        cancelled = builders.prompt_cancelled(f"m-{other}", other, "by_person")
        events += [accepted(other), cancelled._replace(at=iso_ms(utc_now()))]
    assert missing(events, [forgotten])[0] == []
    since = replace(
        stored(new_turn_id(), TurnStatus.COMPLETED, "new"),
        started_at=utc_now() + timedelta(seconds=1),
    )
    added, _ = missing(events, [forgotten, since])
    assert {event.payload["turn_id"] for event in added} == {since.id}


def test_a_turn_that_runs_through_another_door_is_not_added():
    running = stored(new_turn_id(), TurnStatus.RUNNING)
    assert missing([], [running])[0] == []


def test_a_new_log_takes_over_only_as_much_as_it_may_hold():
    history = [stored(new_turn_id(), TurnStatus.COMPLETED, "x") for _ in range(100)]
    added, _ = missing([], history, limit=70)
    assert 70 <= len(added) < 80
    assert added[-1].payload["turn_id"] == history[-1].id


# -- channels that die -----------------------------------------------------------------------------


def die(device) -> None:
    """The channel is killed as a bug would end it."""
    device.mead.deck()._channels.running(device.session_id).kill()


def test_a_killed_channel_closes_its_sockets_and_the_next_one_goes_on(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id).come()
    device.ask("hi")
    die(device)
    assert device.gone()[0] == 1011
    device.come()
    assert not device.snapshot["reset"]
    assert device.ask("more", "m2") == "Hello"
    assert [event["sequence"] for event in device.events] == list(
        range(1, device.last_sequence + 1)
    )


def test_a_turn_that_ran_on_without_its_channel_is_cancelled_first(make_mead, devices, tmp_path):
    script = [{"chunks": ["a"] * 200, "delay_ms": 30}]
    mead, session_id = opened(make_mead(script, tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("hi", "m1")
    device.send("then", "m2")
    device.hear("text.delta")
    die(device)
    device.gone()
    device.come()
    assert [prompt["client_message_id"] for prompt in device.snapshot["queue"]] in (["m2"], [])
    device.hear_end()
    assert device.of("turn.failed")[0]["reason"] == "cancelled"
    device.hear("turn.started")
    device.say("turn.cancel", turn_id=device.of("turn.started")[1]["turn_id"])
    device.hear_end()
    statuses = [turn.status for turn in mead.history(session_id)]
    assert statuses == ["cancelled", "cancelled"]


def test_a_turn_that_ended_while_its_channel_was_dead_gets_its_text(make_mead, devices, tmp_path):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" * 50 if go.wait(5) else "", tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("hi")
    device.hear("turn.routed")
    die(device)
    device.gone()
    go.set()
    eventually(lambda: mead.history(session_id)[0].status == "completed")
    device.come().hear_end()
    assert text_of(device.events) == "x" * 50
    assert device.of("turn.completed")


def test_a_permission_that_waited_is_expired_before_anyone_is_served(make_mead, devices, tmp_path):
    write = {"tool_calls": [{"name": "notes__write", "arguments": {}}]}
    mead, session_id = opened(make_mead([write, {"text": "done"}], tmp_path))
    device = devices.at(mead, session_id).come()
    device.send("go")
    device.hear("permission.requested")
    die(device)
    device.gone()
    device.come()
    assert device.snapshot["pending"] == []
    device.hear_end()
    assert device.of("permission.resolved")[0]["outcome"] == "expired"
    assert device.of("tool_call.finished")[0]["status"] == "failed"


def test_a_turn_of_another_door_is_told_that_the_deck_failed(make_mead, devices, tmp_path):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else "", tmp_path))
    device = devices.at(mead, session_id).come()
    caller = call(mead.submit_turn, session_id, "hi")
    device.hear("turn.routed")
    die(device)
    with pytest.raises(SessionCrashed):
        caller()
    go.set()


def test_turns_made_without_a_device_are_in_the_log_of_the_next_one(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    for _ in range(3):
        mead.submit_turn(session_id, "hi")
    device = devices.at(mead, session_id).come()
    for _ in range(3):
        device.hear_end()
    assert text_of(device.events) == "Hello" * 3
    assert device.of("prompt.accepted")[0]["origin"] == "api"


def test_a_server_that_crashed_interrupts_the_turn_and_the_next_runs(make_mead, devices):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else ""))
    device = devices.at(mead, session_id).come()
    device.send("one", "m1")
    device.send("two", "m2")
    device.hear("turn.routed")
    mead._parts.tree.registry.lookup(session_id).server.kill()
    device.hear_end()
    assert device.of("turn.failed")[0]["reason"] == "interrupted"
    go.set()
    device.hear_end()
    assert device.of("turn.completed")


def test_a_conversation_lost_to_its_restarts_can_be_resumed(make_mead, devices, tmp_path):
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id).come()
    device.ask("hi")
    pair = mead._parts.tree.registry.lookup(session_id)
    while pair.alive:
        if (server := pair.server) is not None:
            server.kill()
        eventually(lambda server=server: not pair.alive or pair.server is not server)
    assert device.gone() == (4409, "stopped")
    mead.deck().redeem(mead.deck().issue_ticket(session_id).ticket)
    device.come()
    assert device.ask("more", "m2") == "Hello"


def test_what_waited_in_a_conversation_lost_to_its_restarts_runs_when_it_is_resumed(
    make_mead, devices, tmp_path
):
    go = Event()
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else "", tmp_path))
    device = devices.at(mead, session_id).come()
    for number in range(10):
        device.send(f"p{number}", f"m{number}")
    while "turn.routed" not in device.types() or len(device.of("prompt.accepted")) < 10:
        device.hear()
    pair = mead._parts.tree.registry.lookup(session_id)
    while pair.alive:
        if (server := pair.server) is not None:
            server.kill()
        eventually(lambda server=server: not pair.alive or pair.server is not server)
    device.hear_out()
    assert device.gone() == (4409, "stopped")
    go.set()
    mead.deck().redeem(mead.deck().issue_ticket(session_id).ticket)
    device.come()
    while len(device.of("metric.updated")) < 20:
        device.hear()
    assert device.of("prompt.cancelled") == []
    failed = [each["reason"] for each in device.of("turn.failed")]
    assert set(failed) <= {"interrupted", "session_crashed", "session_stopped"}
    assert len(device.of("turn.completed")) == 10 - len(failed) >= 5
