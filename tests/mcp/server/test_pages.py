"""Answers stay small, and what is left out can be asked for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.ids import new_session_id, new_turn_id
from mead.mcp.server.pages import (
    BUDGET_BYTES,
    history_page,
    session_page,
    submitted,
    usage_page,
)
from mead.mcp.server.tool import ToolFault, to_json
from mead.protocols import StoredSession, TurnReceipt
from mead.turn import Turn, TurnStatus, utc_now
from tests.mcp.server.conftest import Call

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def turn(prompt: str = "hello", output: str = "hi") -> Turn:
    running = Turn(id=new_turn_id(), input=prompt, started_at=utc_now())
    return running.closed(TurnStatus.COMPLETED, output=output)


def session(age_s: float) -> StoredSession:
    return StoredSession(session_id=new_session_id(), updated_at=NOW - timedelta(seconds=age_s))


def pages_of(turns: list[Turn], limit: int) -> list[dict[str, Any]]:
    pages, before = [], None
    while True:
        pages.append(history_page(turns, limit, before))
        before = pages[-1]["next_before"]
        if before is None:
            return pages


# -- sessions --------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(1, 5))
def test_pages_of_sessions_show_each_once_newest_first(ages: list[int], limit: int) -> None:
    sessions = [session(age) for age in ages]
    shown: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = session_page(sessions, limit, cursor)
        assert len(page["sessions"]) <= limit
        shown += page["sessions"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(row["session_id"] for row in shown) == sorted(one.session_id for one in sessions)
    times = [row["updated_at"] for row in shown]
    assert times == sorted(times, reverse=True)


def test_a_session_that_is_used_meanwhile_does_not_upset_the_pages() -> None:
    sessions = [session(age) for age in range(6)]
    first = session_page(sessions, 3, None)
    moved = [session(-10), *sessions[1:]]
    second = session_page(moved, 3, first["next_cursor"])
    assert [row["session_id"] for row in second["sessions"]] == [
        one.session_id for one in sessions[3:]
    ]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    "cursor", ["", "x", "====", "MjAyNg==", "MjAyNi0xMS0zMFQxMjowMDowMA==", "é", "\0"]
)
def test_a_cursor_that_nobody_gave_is_refused(cursor: str) -> None:
    with pytest.raises(ToolFault, match="cursor: must be the next_cursor of an earlier page"):
        session_page([session(0)], 5, cursor)


# -- turns -----------------------------------------------------------------------------------------


@given(st.integers(0, 12), st.integers(1, 5))
def test_pages_of_turns_show_each_once_in_order(count: int, limit: int) -> None:
    turns = [turn(str(number)) for number in range(count)]
    pages = pages_of(turns, limit)
    assert [row["input"] for page in reversed(pages) for row in page["turns"]] == [
        str(number) for number in range(count)
    ]
    assert {page["total"] for page in pages} == {count}


def test_history_pages_through_the_tool(ask: Call, fault: Call) -> None:
    session_id = ask("start_session")["session_id"]
    for text in ("one", "two", "three"):
        ask("submit_turn", session_id=session_id, input=text)
    page = ask("history", session_id=session_id, limit=2)
    assert [row["input"] for row in page["turns"]] == ["two", "three"]
    older = ask("history", session_id=session_id, limit=2, before=page["next_before"])
    assert [row["input"] for row in older["turns"]] == ["one"]
    assert older["next_before"] is None
    told = fault("history", session_id=session_id, before="nobody")
    assert told == "invalid_input: before: must be the id of a turn of this session"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 900, 9_000, 60_000, 100_000]),
            st.sampled_from([1, 900, 9_000, 60_000, 400_000]),
            st.sampled_from(["a", "ü", "語", "😀", '"', "\n", "\0", "\ud800"]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_page_of_turns_outgrows_the_budget(sizes: list[tuple[int, int, str]]) -> None:
    turns = [turn(letter * prompt, letter * output) for prompt, output, letter in sizes]
    pages = pages_of(turns, 100)
    for page in pages:
        assert len(to_json(page)) <= BUDGET_BYTES + 1000
        assert page["turns"]
        assert ("hint" in page) == any("cut" in row for row in page["turns"])
    assert sum(len(page["turns"]) for page in pages) == len(turns)


def test_a_long_turn_shows_the_beginning_and_says_how_much_there_was() -> None:
    (row,) = history_page([turn("short", "y" * 300_000)], 1, None)["turns"]
    assert row["cut"] == ["output"]
    assert row["input"] == "short"
    assert row["output"].endswith("y … [cut: 300000 characters in all]")
    assert len(row["output"]) > 40_000


def test_an_answer_is_whole_and_the_copies_of_long_texts_are_cut() -> None:
    answer = submitted(TurnReceipt(output="y" * 30_000, turn=turn("x" * 90_000, "y" * 30_000)))
    assert answer["output"] == "y" * 30_000
    assert "cut" not in answer
    assert answer["turn"]["cut"] == ["input", "output"]
    assert answer["turn"]["input"] == "x" * 2000 + " … [cut: 90000 characters in all]"


def test_an_answer_that_no_host_would_take_is_cut() -> None:
    answer = submitted(TurnReceipt(output="y" * 300_000, turn=turn("x", "y" * 300_000)))
    assert answer["cut"] == ["output"]
    assert answer["output"].endswith("[cut: 300000 characters in all]")
    assert BUDGET_BYTES - 100 < len(to_json(answer)) <= BUDGET_BYTES + 100


def test_half_of_a_surrogate_pair_does_not_break_an_answer() -> None:
    assert to_json(submitted(TurnReceipt(output="\ud83d", turn=turn("x", "\ud83d")))).startswith(
        b'{"output":"?"'
    )


# -- usage -----------------------------------------------------------------------------------------


def test_usage_shows_the_newest_days_and_keeps_its_lists_short() -> None:
    days = [{"day": f"2026-{number:03d}", "pad": "x" * 20} for number in range(366)]
    recent = [{"number": number, "pad": "x" * 1000} for number in range(100)]
    page = usage_page({"totals": {"turns": 1}, "routes": [], "days": days, "recent": recent}, 31)
    assert page["days"] == days[-31:]
    assert page["recent"] == recent[:25]
    assert page["cut"] == ["recent"]
    assert len(to_json(page)) <= BUDGET_BYTES + 100
