"""One conversation's turns: order, queue, deadline, cancel, and every way a handler can fail."""

from pathlib import Path
from typing import Any

import gevent
import pytest

from mead import Mead, errors, signals
from mead.protocols import ModelReply
from mead.turn import Turn, TurnStatus
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually
from tests.sessions.conftest import statuses


def start(mead: Mead, **options: Any) -> str:
    return mead.start_session(handler="puppet", **options)


def test_a_turn_is_answered_and_kept(mead: Mead) -> None:
    session_id = start(mead)
    receipt = mead.submit(session_id, "hello")
    assert receipt.output == "hello"
    assert mead.history(session_id) == [receipt.turn]
    turn = receipt.turn
    assert (turn.input, turn.output, turn.status) == ("hello", "hello", TurnStatus.COMPLETED)
    assert turn.finished_at is not None
    assert turn.started_at <= turn.finished_at
    assert not turn.durable
    assert Turn.decode(turn.encode()) == turn


def test_the_handler_sees_the_earlier_turns(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    for text in ("one", "two", "three"):
        mead.submit_turn(session_id, text)
    assert [[turn.input for turn in seen] for seen in puppet.histories] == [
        [],
        ["one"],
        ["one", "two"],
    ]


def test_turns_run_one_at_a_time_in_arrival_order(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    callers = [gevent.spawn(mead.submit_turn, session_id, f"hold {n}") for n in range(5)]
    assert eventually(lambda: puppet.started)
    puppet.release.set()
    assert [caller.get(timeout=5) for caller in callers] == [f"hold {n}" for n in range(5)]
    assert puppet.started == [f"hold {n}" for n in range(5)]
    assert [[turn.status.value for turn in seen] for seen in puppet.histories] == [
        ["completed"] * n for n in range(5)
    ]


def test_ten_turns_wait_and_the_next_is_busy(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    callers = [gevent.spawn(mead.submit_turn, session_id, f"hold {n}") for n in range(11)]
    assert eventually(lambda: puppet.started)
    with pytest.raises(errors.Busy):
        mead.submit_turn(session_id, "one too many")
    puppet.release.set()
    gevent.joinall(callers, timeout=5, raise_error=True)
    assert len(mead.history(session_id)) == 11


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("raise", "handler_crashed", "the turn handler crashed"),
        ("exit", "handler_crashed", "the turn handler crashed"),
        ("killed", "handler_crashed", "the turn handler crashed"),
        ("limit", "handler_crashed", "the turn handler crashed"),
        ("garbage", "bad_output", "the turn handler returned something that is not text"),
        ("fail", "provider_error", "the model said no"),
    ],
)
def test_a_failing_handler_fails_that_turn_alone(
    mead: Mead, caplog: pytest.LogCaptureFixture, text: str, reason: str, message: str
) -> None:
    session_id = start(mead)
    with pytest.raises(errors.TurnFailed) as failed:
        mead.submit_turn(session_id, text)
    assert (failed.value.reason, failed.value.message) == (reason, message)
    assert mead.submit_turn(session_id, "and on") == "and on"
    first = mead.history(session_id)[0]
    assert first.status is TurnStatus.FAILED
    assert first.error is not None
    assert (first.error.code, first.error.message) == (reason, message)
    assert first.output is None
    assert "nobody may see" not in caplog.text


@pytest.mark.parametrize("output", ["half \ud800", "x" * (2 * 1024 * 1024 + 1)])
def test_an_answer_that_cannot_be_kept_fails_the_turn_and_the_session_goes_on(
    tmp_path: Path, output: str
) -> None:
    class Odd:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            return output

    with Mead({"storage": {"directory": str(tmp_path / "var")}}) as mead:
        session_id = mead.start_session(handler=Odd())
        with pytest.raises(errors.TurnFailed) as failed:
            mead.submit_turn(session_id, "x")
        assert failed.value.reason == "bad_output"
        assert statuses(mead, session_id) == ["failed"]
        assert mead.export_session(session_id)
        assert mead.compact_session(session_id)


@pytest.mark.parametrize("text", ["odd report", "odd failure", "odd words"])
def test_what_a_handler_says_wrongly_fails_its_turn_alone(tmp_path: Path, text: str) -> None:
    class Odd:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            if text == "odd report":
                context.report(5)
            if text == "odd failure":
                raise errors.TurnFailed(object())  # type: ignore[arg-type]
            if text == "odd words":
                raise errors.TurnFailed("reason", "half \ud800")
            return text

    with Mead({"storage": {"directory": str(tmp_path / "var")}}) as mead:
        session_id = mead.start_session(handler=Odd())
        with pytest.raises(errors.TurnFailed) as failed:
            mead.submit_turn(session_id, text)
        assert failed.value.reason == "handler_crashed"
        assert mead.submit_turn(session_id, "and on") == "and on"
        assert mead.export_session(session_id)


def test_what_a_failed_turn_learned_stays_on_it(mead: Mead) -> None:
    session_id = start(mead)
    with pytest.raises(errors.TurnFailed):
        mead.submit_turn(session_id, "fail")
    facts = mead.history(session_id)[0].facts
    assert (facts.route, facts.provider) == ("local", "puppet")


def test_a_turn_that_outlives_its_deadline_times_out(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead, turn_timeout_ms=20)
    with pytest.raises(errors.TurnTimeout):
        mead.submit_turn(session_id, "hold")
    assert eventually(lambda: puppet.ended == ["hold"])
    assert statuses(mead, session_id) == ["timeout"]
    assert mead.submit_turn(session_id, "and on") == "and on"


def test_a_handler_that_refuses_to_die_cannot_hold_its_session(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead, turn_timeout_ms=20)
    with pytest.raises(errors.TurnTimeout):
        mead.submit_turn(session_id, "stubborn")
    assert mead.submit_turn(session_id, "and on") == "and on"
    puppet.release.set()
    assert eventually(lambda: "stubborn" in puppet.ended)
    assert statuses(mead, session_id) == ["timeout", "completed"]


def test_the_clock_starts_with_the_turn_not_in_the_queue(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead, turn_timeout_ms=100)
    first = gevent.spawn(mead.submit_turn, session_id, "pause")  # holds longer than the timeout
    assert eventually(lambda: puppet.started)
    second = gevent.spawn(mead.submit_turn, session_id, "quick")
    gevent.sleep(0.2)
    puppet.release.set()
    assert first.get(timeout=5) == "pause"
    assert second.get(timeout=5) == "quick"


def test_the_clock_stands_still_while_a_person_is_asked(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead, turn_timeout_ms=50)
    caller = gevent.spawn(mead.submit_turn, session_id, "pause")
    assert eventually(lambda: puppet.started)
    gevent.sleep(0.15)
    puppet.release.set()
    assert caller.get(timeout=5) == "pause"


def test_a_running_turn_can_be_cancelled(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    caller = gevent.spawn(mead.submit_turn, session_id, "hold")
    assert eventually(lambda: puppet.started)
    mead.cancel_turn(session_id)
    with pytest.raises(errors.TurnCancelled):
        caller.get(timeout=5)
    assert eventually(lambda: puppet.ended)
    assert statuses(mead, session_id) == ["cancelled"]
    with pytest.raises(errors.SessionNotFound):
        mead.cancel_turn(session_id)


def test_a_waiting_turn_can_be_cancelled_by_its_id(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    turn_id = "0a0b0c0d-0000-4000-8000-000000000001"
    running = gevent.spawn(mead.submit_turn, session_id, "hold")
    waiting = gevent.spawn(mead.submit_turn, session_id, "never", turn_id=turn_id)
    assert eventually(lambda: puppet.started)
    mead.cancel_turn(session_id, turn_id)
    with pytest.raises(errors.TurnCancelled):
        waiting.get(timeout=5)
    puppet.release.set()
    assert running.get(timeout=5) == "hold"
    assert puppet.started == ["hold"]


def test_a_given_turn_id_is_used_once(mead: Mead) -> None:
    session_id = start(mead)
    turn_id = "0a0b0c0d-0000-4000-8000-000000000001"
    assert mead.submit(session_id, "one", turn_id=turn_id).turn.id == turn_id
    with pytest.raises(errors.InvalidInput, match="turn_id"):
        mead.submit_turn(session_id, "two", turn_id=turn_id)
    assert len(mead.history(session_id)) == 1


def test_a_turn_goes_on_when_its_caller_goes_away(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    caller = gevent.spawn(mead.submit_turn, session_id, "hold")
    assert eventually(lambda: puppet.started)
    caller.kill()
    puppet.release.set()
    assert eventually(lambda: statuses(mead, session_id) == ["completed"])


def test_an_interaction_that_lacks_a_method_is_told_which(mead: Mead) -> None:
    class Half:
        def routed(self, facts: Any) -> None: ...
        def authorize(self, use: Any, cancel: Any) -> bool: ...
        def call_finished(self, call_id: str, status: Any, summary: str) -> None: ...

    half: Any = Half()
    with pytest.raises(errors.InvalidInteraction) as refused:
        mead.submit_turn(start(mead), "x", interaction=half)
    assert refused.value.message == (
        "the interaction lacks text_delta(), choose() (see Interaction)"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": ""}, errors.InvalidInput),
        ({"text": "   \n"}, errors.InvalidInput),
        ({"text": 7}, errors.InvalidInput),
        ({"text": b"bytes"}, errors.InvalidInput),
        ({"text": "x" * 100_001}, errors.InvalidInput),
        ({"text": "half \ud800"}, errors.InvalidInput),
        ({"text": "x", "route": "moon"}, errors.InvalidRoute),
        ({"text": "x", "route": []}, errors.InvalidRoute),
        ({"text": "x", "tools": "all"}, errors.InvalidInput),
        ({"text": "x", "interaction": object()}, errors.InvalidInteraction),
        ({"text": "x", "turn_id": "nope"}, errors.InvalidInput),
        ({"text": "x", "on_text": 5}, errors.InvalidInput),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_recorded(
    mead: Mead, arguments: dict[str, Any], error: type[errors.MeadError]
) -> None:
    session_id = start(mead)
    with pytest.raises(error) as refused:
        mead.submit_turn(session_id, **arguments)
    assert refused.value.message
    assert mead.history(session_id) == []


def test_the_longest_input_is_taken(mead: Mead) -> None:
    session_id = start(mead)
    assert mead.submit_turn(session_id, "é" * 100_000) == "é" * 100_000


@pytest.mark.parametrize(
    "session_id",
    ["", "x", "../../etc/passwd", "0A0B0C0D-0000-4000-8000-000000000001", 7, None],
)
def test_an_id_of_the_wrong_shape_is_not_found(mead: Mead, session_id: Any) -> None:
    for call in (
        mead.history,
        mead.stop_session,
        mead.resume_session,
        mead.delete_session,
        mead.compact_session,
        mead.cancel_turn,
        mead.session_usage,
        lambda id_: mead.submit_turn(id_, "x"),
    ):
        with pytest.raises(errors.SessionNotFound):
            call(session_id)


@pytest.mark.parametrize("timeout_ms", [0, -1, 3_600_001, 1.5, True, "30"])
def test_a_turn_timeout_out_of_range_is_refused(mead: Mead, timeout_ms: Any) -> None:
    with pytest.raises(errors.InvalidInput, match="turn_timeout_ms"):
        start(mead, turn_timeout_ms=timeout_ms)


def test_an_unknown_handler_is_refused_with_the_known_ones(mead: Mead) -> None:
    with pytest.raises(errors.InvalidInput, match="echo"):
        mead.start_session(handler="nobody")
    with pytest.raises(errors.InvalidInput, match="handle_turn"):
        mead.start_session(handler=object())  # type: ignore[arg-type]


def test_a_handler_object_is_taken_as_it_is(mead: Mead) -> None:
    own = Puppet()
    session_id = mead.start_session(handler=own)
    assert mead.submit_turn(session_id, "mine") == "mine"
    assert own.started == ["mine"]


def test_a_stop_answers_the_running_and_the_waiting(mead: Mead, puppet: Puppet) -> None:
    session_id = start(mead)
    callers = [gevent.spawn(mead.submit_turn, session_id, "hold") for _ in range(3)]
    assert eventually(lambda: puppet.started)
    mead.stop_session(session_id)
    for caller in callers:
        with pytest.raises(errors.SessionStopped):
            caller.get(timeout=5)
    with pytest.raises(errors.SessionNotFound):
        mead.submit_turn(session_id, "anyone?")
    with pytest.raises(errors.SessionNotFound):
        mead.stop_session(session_id)


def test_no_session_beyond_the_limit(puppet: Puppet) -> None:
    with Mead({"runtime": {"maximum_sessions": 2}}) as small:
        first = small.start_session()
        small.start_session()
        with pytest.raises(errors.TooManySessions):
            small.start_session()
        small.stop_session(first)
        small.start_session()


def test_a_stopped_mead_refuses_and_starts_again(puppet: Puppet) -> None:
    mead = Mead(handlers={"puppet": puppet})
    with pytest.raises(errors.SessionStopped):
        mead.start_session()
    for _ in range(2):
        with mead:
            assert mead.submit_turn(mead.start_session(), "x") == "x"
        with pytest.raises(errors.SessionStopped):
            mead.start_session()


def test_two_meads_work_side_by_side(puppet: Puppet) -> None:
    with Mead() as one, Mead() as two:
        in_one, in_two = one.start_session(), two.start_session()
        assert one.submit_turn(in_one, "1") == "1"
        assert two.submit_turn(in_two, "2") == "2"
        for mead, foreign in ((one, in_two), (two, in_one)):
            with pytest.raises(errors.SessionNotFound):
                mead.history(foreign)


class Fixed:
    """A provider made in code."""

    name, model, host = "fixed", "m", None

    def complete(self, request: Any) -> ModelReply:
        return ModelReply(text="from the provider", stop_reason="end_turn")


def test_slots_filled_in_code_count_as_filled() -> None:
    with Mead(providers={"local": Fixed()}) as mead:
        receipt = mead.submit(mead.start_session(), "Explain why the sky is blue")
        assert receipt.output == "from the provider"
        assert receipt.turn.facts.route_source == "default"
    with Mead(providers={"cloud": Fixed()}) as mead:
        receipt = mead.submit(mead.start_session(), "Explain why the sky is blue")
        assert receipt.turn.facts.route == "cloud"
    with Mead({"runtime": {"turn_handler": "echo"}}, providers={"local": Fixed()}) as mead:
        assert mead.submit_turn(mead.start_session(), "x") == "x"


@pytest.mark.parametrize("error", [ValueError(), SystemExit(1), gevent.Timeout(1)])
def test_a_receiver_that_raises_reaches_neither_turn_nor_ledger(error: BaseException) -> None:
    def broken(sender: object, **fields: object) -> None:
        raise error

    with Mead(providers={"local": Fixed()}) as mead, signals.route.connected_to(broken, mead):
        assert mead.submit_turn(mead.start_session(), "x") == "from the provider"
        assert mead.usage()["totals"]["turns"] == 1
