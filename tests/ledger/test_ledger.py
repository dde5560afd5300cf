"""The ledger: what it counts, what it refuses to count, and what it finds again after a crash."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gevent.event import Event
from hypothesis import given
from hypothesis import strategies as st

from mead import Mead, errors, signals
from mead.ledger.event import turn_event
from mead.ledger.totals import COUNTERS, DAYS_LIMIT, Totals
from mead.turn import utc_now
from tests.helpers.waiting import eventually

TURN: dict[str, Any] = {
    "route": "local",
    "route_source": "classified",
    "provider": "scripted",
    "model": "m",
    "status": "ok",
    "session_id": None,
    "duration_ms": 12.5,
    "input_tokens": 10,
    "output_tokens": 3,
    "cache_read_tokens": 2,
    "cache_write_tokens": 1,
    "tool_calls": 1,
}


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Any]:
    return {"storage": {"directory": str(tmp_path / "var")}}


@pytest.fixture
def mead(stored: dict[str, Any]) -> Iterator[Mead]:
    with Mead(stored) as running:
        yield running


def routed(mead: Mead, **fields: object) -> None:
    signals.emit(signals.route, mead, **{**TURN, **fields})


def journaled(mead: Mead) -> None:
    """Wait until everything that was counted is written."""
    ledger: Any = mead._parts.tree.ledger
    eventually(lambda: not ledger._ledger._waiting)


def counters(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[name] for name in ("turns", "failed", "input_tokens", "output_tokens"))


def test_a_turn_is_counted_everywhere_it_belongs(mead: Mead) -> None:
    session_id = mead.start_session()
    routed(mead, session_id=session_id)
    routed(mead, session_id=session_id, status="error", route="cloud", model="other")
    usage = mead.usage()
    assert counters(usage["totals"]) == (2, 1, 20, 6)
    assert [(row["route"], row["model"], row["turns"]) for row in usage["routes"]] == [
        ("local", "m", 1),
        ("cloud", "other", 1),
    ]
    assert [row["turns"] for row in usage["days"]] == [2]
    assert [row["model"] for row in usage["recent"]] == ["other", "m"]
    assert counters(mead.session_usage(session_id)) == (2, 1, 20, 6)
    assert usage["totals"]["cache_read_tokens"] == 4
    assert usage["totals"]["cache_write_tokens"] == 2


def test_another_meads_turns_are_not_counted(mead: Mead) -> None:
    with Mead() as other:
        routed(other)
        assert other.usage()["totals"]["turns"] == 1
    assert mead.usage()["totals"]["turns"] == 0


@pytest.mark.parametrize(
    "fault",
    [
        {"route": "moon"},
        {"status": None},
        {"duration_ms": float("nan")},
        {"duration_ms": -1},
        {"input_tokens": -1},
        {"output_tokens": True},
        {"tool_calls": 1.5},
        {"input_tokens": 2**60},
        {"provider": 7},
        {"session_id": object()},
    ],
)
def test_an_event_it_cannot_read_is_counted_as_dropped(mead: Mead, fault: dict[str, Any]) -> None:
    routed(mead, **fault)
    usage = mead.usage()
    assert usage["totals"]["dropped"] == 1
    assert usage["totals"]["turns"] == 0


def test_an_event_without_fields_is_dropped_and_never_reaches_the_sender(mead: Mead) -> None:
    signals.emit(signals.route, mead)
    assert mead.usage()["totals"]["dropped"] == 1


def test_the_ring_holds_the_last_hundred(mead: Mead) -> None:
    for number in range(150):
        routed(mead, input_tokens=number)
    assert [turn["input_tokens"] for turn in mead.usage(recent=100)["recent"]] == list(
        range(149, 49, -1)
    )
    assert len(mead.usage(recent=0)["recent"]) == 0
    assert len(mead.usage()["recent"]) == 20
    for recent in (-1, 101, True, "5"):
        with pytest.raises(errors.InvalidInput, match="recent"):
            mead.usage(recent=recent)  # type: ignore[arg-type]


def test_a_session_that_spent_nothing_is_not_found(mead: Mead) -> None:
    with pytest.raises(errors.SessionNotFound):
        mead.session_usage(mead.start_session())


def test_a_stop_keeps_the_row_and_a_delete_forgets_it(mead: Mead) -> None:
    session_id = mead.start_session()
    routed(mead, session_id=session_id)
    mead.stop_session(session_id)
    mead.resume_session(session_id)
    assert mead.session_usage(session_id)["turns"] == 1
    mead.delete_session(session_id)
    with pytest.raises(errors.SessionNotFound):
        mead.session_usage(session_id)
    assert mead.usage()["totals"]["turns"] == 1


def test_everything_outlives_a_restart(stored: dict[str, Any]) -> None:
    with Mead(stored) as first:
        session_id = first.start_session()
        for _ in range(7):
            routed(first, session_id=session_id)
        signals.emit(signals.route, first)
        before, session = first.usage(), first.session_usage(session_id)
    with Mead(stored) as second:
        assert second.usage() == before
        assert second.session_usage(session_id) == session


def test_a_crashed_ledger_restores_its_numbers(mead: Mead) -> None:
    for _ in range(5):
        routed(mead)
    before = mead.usage()
    tree = mead._parts.tree
    ledger: Any = tree.ledger
    ledger.ref.kill()
    assert eventually(lambda: tree.ledger not in (None, ledger) and tree.sessions is not None)
    assert mead.usage() == before


def test_the_journal_is_rewritten_as_a_checkpoint_and_loses_nothing(
    stored: dict[str, Any], tmp_path: Path
) -> None:
    stored["storage"]["ledger_journal_max_bytes"] = 5000
    with Mead(stored) as mead:
        session_id = mead.start_session()
        for number in range(400):
            routed(mead, input_tokens=number, session_id=session_id)
            if number % 50 == 0:
                journaled(mead)
        before = mead.usage(recent=100)
    journal = tmp_path / "var" / "ledger.journal"
    assert b'"checkpoint"' in journal.read_bytes()
    assert journal.stat().st_size < 400 * 200
    with Mead(stored) as again:
        assert again.usage(recent=100) == before
        assert again.session_usage(session_id)["turns"] == 400


def test_a_damaged_journal_is_set_aside_and_counting_begins_anew(
    stored: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Mead(stored) as mead:
        for _ in range(3):
            routed(mead)
            journaled(mead)
    journal = tmp_path / "var" / "ledger.journal"
    data = bytearray(journal.read_bytes())
    data[30] ^= 0xFF
    journal.write_bytes(data)
    with caplog.at_level(logging.WARNING), Mead(stored) as mead:
        assert mead.usage()["totals"]["turns"] == 0
        routed(mead)
    assert (tmp_path / "var" / "ledger.journal.corrupt").read_bytes() == data
    assert "ledger.journal.corrupt" in caplog.text
    with Mead(stored) as mead:
        assert mead.usage()["totals"]["turns"] == 1


def test_a_torn_tail_is_cut_and_the_rest_counted(stored: dict[str, Any], tmp_path: Path) -> None:
    with Mead(stored) as mead:
        routed(mead)
        journaled(mead)
    journal = tmp_path / "var" / "ledger.journal"
    with journal.open("ab") as file:
        file.write(b"\x00\x00\x01")
    with Mead(stored) as mead:
        assert mead.usage()["totals"]["turns"] == 1


def test_damage_found_while_it_runs_costs_neither_totals_nor_conversations(
    mead: Mead, stored: dict[str, Any], tmp_path: Path
) -> None:
    """As a failed sync leaves it: the journal must be rewritten, and cannot be read."""
    session_id = mead.start_session()
    routed(mead, session_id=session_id)
    journaled(mead)
    handle: Any = mead._parts.tree.ledger
    handle._ledger._journal._records.poisoned = True
    journal = tmp_path / "var" / "ledger.journal"
    data = bytearray(journal.read_bytes())
    data[-3] ^= 0xFF
    journal.write_bytes(data)
    for _ in range(3):
        routed(mead, session_id=session_id)
    kept = tmp_path / "var" / "ledger.journal.corrupt"
    assert eventually(kept.exists)
    assert mead.usage()["totals"]["turns"] == 4
    assert mead.history(session_id) == []
    mead.stop()
    with Mead(stored) as again:
        assert again.usage()["totals"]["turns"] == 4
        assert again.session_usage(session_id)["turns"] == 4


def test_readers_and_turns_do_not_wait_for_a_disk_that_hangs() -> None:
    from mead.ledger.ledger import Ledger, LedgerHandle

    hang, entered = Event(), Event()

    class Hanging:
        def append(self, events: Any) -> None:
            entered.set()
            hang.wait(60)

        def close(self) -> None:
            pass

    sender = object()
    handle = LedgerHandle(Ledger(sender, lambda totals: Hanging()))  # type: ignore[arg-type,return-value]
    for _ in range(200):
        signals.emit(signals.route, sender, **TURN)
    assert entered.wait(5)
    signals.emit(signals.route, sender, **TURN)
    assert handle.usage(5)["totals"]["turns"] == 201
    hang.set()
    handle.stop()


events = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("turn"),
            "at": st.dates().map(lambda day: f"{day.isoformat()}T00:00:00.000Z"),
            "route": st.sampled_from(["local", "cloud"]),
            "route_source": st.just("forced"),
            "provider": st.sampled_from(["a", None]),
            "model": st.sampled_from(["x", "y"]),
            "session_id": st.sampled_from(["s", "t", None]),
            "status": st.sampled_from(["ok", "error"]),
            "duration_ms": st.integers(0, 10),
            **{name: st.integers(0, 9) for name in TURN if name.endswith(("tokens", "calls"))},
        }
    ),
    st.fixed_dictionaries({"type": st.just("forget"), "session_id": st.sampled_from(["s", "t"])}),
    st.just({"type": "dropped"}),
)


@given(st.lists(events), st.lists(events))
def test_a_checkpoint_stands_for_the_events_before_it(before: list[Any], after: list[Any]) -> None:
    whole, first, second = Totals(), Totals(), Totals()
    for event in before + after:
        whole.apply(event)
    for event in before:
        first.apply(event)
    for event in [*first.checkpoint(), *after]:
        second.apply(event)
    assert vars(second) == vars(whole)


junk = st.one_of(
    st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.integers())
)


@given(st.dictionaries(st.sampled_from([*TURN, "other"]), junk))
def test_no_signal_can_break_the_totals(fields: dict[str, Any]) -> None:
    event = turn_event({**TURN, **fields}, utc_now())
    if event is not None:
        Totals().apply(event)


def test_a_day_tells_local_turns_from_cloud_turns(mead: Mead) -> None:
    for route in ("local", "cloud", "cloud"):
        routed(mead, route=route)
    [day] = mead.usage()["days"]
    assert (day["turns"], day["local_turns"], day["cloud_turns"]) == (3, 1, 2)


def test_a_checkpoint_from_before_days_told_routes_apart_is_read() -> None:
    totals = Totals()
    totals.apply({"type": "turn", "at": "2026-11-29T12:00:00.000Z", **TURN})
    first, *rest = totals.checkpoint()
    plain = {day: {name: row[name] for name in COUNTERS} for day, row in first["days"].items()}
    again = Totals()
    for event in [{**first, "days": plain}, *rest]:
        again.apply(event)
    assert again.days["2026-11-29"] == plain["2026-11-29"]
    again.apply({"type": "turn", "at": "2026-11-29T13:00:00.000Z", **TURN})
    assert again.days["2026-11-29"]["turns"] == 2
    assert again.days["2026-11-29"]["local_turns"] == 1


def test_a_year_of_days_is_kept() -> None:
    totals = Totals()
    for number in range(DAYS_LIMIT + 10):
        day = f"20{number // 360 + 20:02d}-{number // 30 % 12 + 1:02d}-{number % 30 + 1:02d}"
        totals.apply({"type": "turn", "at": f"{day}T00:00:00.000Z", **TURN})
    assert len(totals.days) == DAYS_LIMIT
    assert "2020-01-01" not in totals.days
