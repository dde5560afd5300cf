"""Conversations made up at random, as a channel would log them."""

import random
from collections.abc import Iterator
from typing import Any

from mead.deck import builders
from mead.deck.events import Event, NewEvent
from mead.deck.fold import apply
from mead.deck.snapshot import standing
from mead.deck.state import DeckState
from mead.ids import new_uuid
from mead.protocols import ToolUse
from mead.turn import TurnFacts

AT = "2026-11-30T14:00:00.000Z"
TOOLS = ("notes__search", "notes__write", "mail__send")
FACTS = TurnFacts(
    route="local", route_source="classified", route_reason="short", provider="scripted", model="m"
)


def numbered(events: list[NewEvent], first: int = 1) -> list[Event]:
    return [
        Event(new.type, place, new.at or AT, new.payload)
        for place, new in enumerate(events, start=first)
    ]


def folded(events: list[Event], state: DeckState | None = None) -> DeckState:
    state = DeckState() if state is None else state
    for event in events:
        apply(state, event)
    return state


def shape(state: DeckState) -> dict[str, Any]:
    """Everything that a state decides by, to compare two."""
    return {
        **standing(state, "ask_for_risky"),
        "first_sequence": state.first_sequence,
        "last_sequence": state.last_sequence,
        "text": None if state.turn is None else "".join(state.turn.text),
        "resolved": dict(state.resolved),
        "known": {id_: (k.turn_id, k.accepted, k.ending) for id_, k in state.known.items()},
        "quiet": list(state.quiet),
        "extensions": {id_: request.extensions for id_, request in state.pending.items()},
    }


class Story:
    """Says what happens next; keeps to the order in which a channel says it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._ids = random.Random(f"ids of {seed}")
        self._queue: list[dict[str, Any]] = []

    def events(self, turns: int) -> list[NewEvent]:
        told: list[NewEvent] = []
        for _ in range(turns):
            told += self.accepted()
            while self._queue:
                told += list(self._turn())
        return told

    def accepted(self) -> list[NewEvent]:
        prompt = {
            "client_message_id": f"m-{self._ids.getrandbits(60):x}",
            "turn_id": new_uuid(),
            "text": self._text(),
            "route": self._chance.choice([None, "local", "auto"]),
            "origin": self._chance.choice(["deck", "mcp"]),
        }
        self._queue.append(prompt)
        return [builders.prompt_accepted(**prompt)]

    def _turn(self) -> Iterator[NewEvent]:
        prompt = self._queue.pop(0)
        turn_id = prompt["turn_id"]
        if self._chance.random() < 0.1:
            yield builders.prompt_cancelled(prompt["client_message_id"], turn_id, "by_person")
            return
        yield builders.turn_started(turn_id)
        yield builders.turn_routed(turn_id, FACTS)
        for _ in range(self._chance.randrange(4)):
            yield from self._step(turn_id)
        if self._chance.random() < 0.8:
            yield builders.turn_completed(turn_id, "end_turn", 12)
        else:
            yield builders.turn_failed(turn_id, "timeout", "the turn took too long")
        yield from builders.metrics(turn_id, self._chance.choice([None, 7]), 9)

    def _step(self, turn_id: str) -> Iterator[NewEvent]:
        kind = self._chance.randrange(6)
        if kind == 0:
            yield from self._call(turn_id)
        elif kind == 1:
            yield from self._choice(turn_id)
        elif kind == 2 and len(self._queue) < 10:
            yield from self.accepted()
        elif kind == 3:
            yield builders.policy_updated(self._chance.choice(["allow_all", "read_only"]), "phone")
        elif kind == 4:
            yield builders.session_titled(self._text()[:20], "phone")
        else:
            for _ in range(self._chance.randrange(1, 5)):
                yield from builders.text_deltas(turn_id, self._text())

    def _call(self, turn_id: str) -> Iterator[NewEvent]:
        name = self._chance.choice(TOOLS)
        server, tool = name.split("__")
        use = ToolUse(
            call_id=new_uuid(), server=server, tool=tool, name=name, kind="effect", arguments={}
        )
        yield builders.tool_call_started(turn_id, use, {"text": self._text()})
        asked = builders.permission_requested(turn_id, use, {}, AT)
        yield asked
        request_id = asked.payload["request_id"]
        if self._chance.random() < 0.3:
            yield builders.request_extended(request_id, "2026-11-30T14:02:00.000Z", "phone")
        remember = name if self._chance.random() < 0.5 else None
        yield builders.permission_resolved(
            request_id,
            "allow_once" if remember is None else "allow_always",
            by_device="phone",
            remember=remember,
        )
        if self._chance.random() < 0.3:
            yield builders.permission_forgotten(self._chance.choice(TOOLS), "phone")
        yield builders.tool_call_finished(turn_id, use.call_id, "ok", "done")

    def _choice(self, turn_id: str) -> Iterator[NewEvent]:
        asked = builders.choice_requested(turn_id, "Which?", ["a", "b"], AT)
        yield asked
        option = self._chance.choice(["a", None])
        yield builders.choice_resolved(asked.payload["request_id"], option, option and "phone")

    def _text(self) -> str:
        return "".join(self._chance.choice("aé 🍵\n") for _ in range(self._chance.randrange(1, 40)))
