"""Every field of the events that a closed turn comes to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mead.deck.endings import whole
from mead.turn import Turn, TurnFacts, TurnStatus, Usage

BEGUN = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)
FACTS = TurnFacts(
    route="cloud",
    route_source="classified",
    route_reason="asks for a comparison",
    provider="anthropic",
    model="a-model",
    host="192.0.2.7:443",
    usage=Usage(input=21, output=5),
    stop_reason="end_turn",
)
TURN = Turn(
    id="11111111-1111-4111-8111-111111111111",
    input="Compare",
    output="Both are tea.",
    status=TurnStatus.COMPLETED,
    started_at=BEGUN,
    finished_at=BEGUN + timedelta(milliseconds=1234),
    facts=FACTS,
)


def test_a_stored_turn_is_told_with_everything_that_is_known_of_it():
    events = whole(TURN)
    assert {event.payload["turn_id"] for event in events} == {TURN.id}
    told = [(event.type, {**event.payload, "turn_id": ""}) for event in events]
    assert told == [
        ("turn.started", {"turn_id": ""}),
        (
            "turn.routed",
            {
                "turn_id": "",
                "route": "cloud",
                "route_source": "classified",
                "reason": "asks for a comparison",
                "provider": "anthropic",
                "model": "a-model",
                "host": "192.0.2.7:443",
            },
        ),
        ("text.delta", {"turn_id": "", "text": "Both are tea."}),
        ("turn.completed", {"turn_id": "", "stop_reason": "end_turn", "duration_ms": 1234}),
        ("metric.updated", {"turn_id": "", "name": "tokens_in", "value": 21}),
        ("metric.updated", {"turn_id": "", "name": "tokens_out", "value": 5}),
    ]


def test_a_clock_that_was_set_back_gives_a_turn_no_time_below_nothing():
    completed = whole(replace(TURN, finished_at=BEGUN - timedelta(hours=1)))[-3]
    assert completed.payload["duration_ms"] == 0
