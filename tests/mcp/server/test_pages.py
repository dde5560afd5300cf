"""Answers stay small, and what is left out can be asked for."""

from dataclasses import replace
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
from mead.mcp.server.tool import ToolFault, structured, to_json
from mead.protocols import StoredSession, TurnReceipt
from mead.turn import Turn, TurnFacts, TurnFault, TurnStatus, utc_now
from tests.mcp.server.conftest import Call

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def turn(prompt: str = "hello", output: str = "hi") -> Turn:
    running = Turn(id=new_turn_id(), input=prompt, started_at=utc_now())
    return running.closed(TurnStatus.COMPLETED, output=output)


def session(age_s: float) -> StoredSession:
    return StoredSession(session_id=new_session_id(), updated_at=NOW - timedelta(seconds=age_s))


def sent(answer: dict[str, Any]) -> int:
    """Bytes of the answer as a client gets it."""
    return len(to_json(structured(answer).shape()))


def pages_of(turns: list[Turn], limit: int) -> list[dict[str, Any]]:
    pages, before = [], None
    while True:
        pages.append(history_page(turns, limit, before))
        before = pages[-1]["next_before"]
        if before is None:
            return pages


WORDS = ("route", "route_source", "route_reason", "provider", "model", "host", "stop_reason")
LETTERS = st.sampled_from(["a", "ü", "語", "😀", '"', "\n", "\0", "\ud800"])
LENGTHS = st.sampled_from([0, 1, 90, 101, 900, 9_000, 60_000, 300_000])
TEXTS = st.builds(lambda letter, length: letter * length, LETTERS, LENGTHS)


@st.composite
def any_turn(draw: st.DrawFn) -> Turn:
    """An ended turn whose texts have any length, whoever they came from."""
    word: Any = st.none() | TEXTS
    facts = {name: draw(word) for name in WORDS}
    facts["warnings"] = tuple(draw(st.lists(TEXTS, max_size=20)))
    error = draw(st.none() | st.builds(TurnFault, code=TEXTS, message=TEXTS))
    running = Turn(id=new_turn_id(), input=draw(TEXTS), started_at=utc_now())
    status = draw(st.sampled_from(TurnStatus))
    return running.closed(status, output=draw(word), error=error, facts=TurnFacts(**facts))


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


def test_the_titles_are_shown_and_a_page_of_long_ones_stays_small() -> None:
    named = [replace(session(age), title="\u6f22" * 200) for age in range(200)]
    shown: list[dict[str, Any]] = []
    cursor = None
    while len(shown) < 200:
        page = session_page(named, 200, cursor)
        assert page["sessions"]
        assert sent(page) <= BUDGET_BYTES
        shown += page["sessions"]
        cursor = page["next_cursor"]
    assert cursor is None
    assert [row["session_id"] for row in shown] == [one.session_id for one in named]
    assert {row["title"] for row in shown} == {"\u6f22" * 200}
    assert session_page([session(0)], 1, None)["sessions"][0]["title"] is None


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
            LETTERS,
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_page_of_turns_outgrows_the_budget(sizes: list[tuple[int, int, str]]) -> None:
    turns = [turn(letter * prompt, letter * output) for prompt, output, letter in sizes]
    pages = pages_of(turns, 100)
    for page in pages:
        assert sent(page) <= BUDGET_BYTES + 100
        assert page["turns"]
        assert ("hint" in page) == any("cut" in row for row in page["turns"])
    assert sum(len(page["turns"]) for page in pages) == len(turns)


@given(any_turn())
def test_no_field_of_a_turn_makes_an_answer_outgrow_the_budget(odd: Turn) -> None:
    """The bug: a text that was no input or output was never cut, and the loop never ended."""
    whole = odd.encode()
    (row,) = history_page([odd], 1, None)["turns"]
    assert {name for name in whole if row[name] != whole[name]} == set(row.get("cut", ()))
    assert sent({"turns": [row]}) <= BUDGET_BYTES
    answer = submitted(TurnReceipt(output=odd.output or "", turn=odd))
    assert sent(answer) <= BUDGET_BYTES + 100
    assert answer["turn"]["id"] == odd.id


def test_a_turn_with_one_endless_word_keeps_its_answer() -> None:
    odd = turn().closed(
        TurnStatus.COMPLETED, output="y" * 9000, facts=TurnFacts(stop_reason="s" * 60_000)
    )
    (row,) = history_page([odd], 1, None)["turns"]
    assert row["cut"] == ["stop_reason"]
    assert row["stop_reason"] == "s" * 100 + " … [cut: 60000 characters in all]"
    assert row["output"] == odd.output


@pytest.mark.parametrize("length", [9_000, 15_000])
def test_a_text_that_fits_once_others_are_cut_is_whole_and_not_named(length: int) -> None:
    odd = turn("x", "y" * length)
    odd = odd.closed(odd.status, output=odd.output, facts=TurnFacts(model="m" * 60_000))
    (row,) = history_page([odd], 1, None)["turns"]
    assert (row["output"], row["cut"]) == (odd.output, ["model"])


def test_a_long_turn_shows_the_beginning_and_says_how_much_there_was() -> None:
    (row,) = history_page([turn("short", "y" * 300_000)], 1, None)["turns"]
    assert row["cut"] == ["output"]
    assert row["input"] == "short"
    assert row["output"].endswith("y … [cut: 300000 characters in all]")
    assert len(row["output"]) > 20_000


def test_an_answer_is_whole_and_the_copies_of_long_texts_are_cut() -> None:
    answer = submitted(TurnReceipt(output="y" * 20_000, turn=turn("x" * 90_000, "y" * 20_000)))
    assert answer["output"] == "y" * 20_000
    assert "cut" not in answer
    assert answer["turn"]["cut"] == ["input", "output"]
    assert answer["turn"]["input"] == "x" * 2000 + " … [cut: 90000 characters in all]"


def test_an_answer_that_no_host_would_take_is_cut() -> None:
    answer = submitted(TurnReceipt(output="y" * 300_000, turn=turn("x", "y" * 300_000)))
    assert answer["cut"] == ["output"]
    assert answer["output"].endswith("[cut: 300000 characters in all]")
    assert BUDGET_BYTES - 200 < sent(answer) <= BUDGET_BYTES + 100


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
    assert page["recent"] == recent[:12]
    assert page["cut"] == ["recent"]
    assert sent(page) <= BUDGET_BYTES + 100


@given(st.dictionaries(st.sampled_from(["routes", "days", "recent", "totals"]), LENGTHS))
def test_no_rows_of_usage_outgrow_the_budget(lengths: dict[str, int]) -> None:
    usage = {name: [{"model": "m" * length}] for name, length in lengths.items()}
    totals = {"totals": {"turns": 1}}
    page = usage_page({**usage, **totals}, 31)
    assert sent(page) <= BUDGET_BYTES + 100
    for name in usage.keys() - totals:
        assert (page[name] == usage[name]) == (name not in page.get("cut", ()))


def test_usage_that_is_large_without_its_lists_is_given_as_it_is() -> None:
    usage = {"totals": {"x" * 60_000: 1}, "days": [{"turns": 1}]}
    assert usage_page(usage, 31) == {**usage, "days": [], "cut": ["days"]}
