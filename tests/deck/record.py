"""Makes the recordings anew from real runs: `python -m gevent.monkey --module tests.deck.record`.

A recording is the events of a conversation as a device was sent them, one a line, and beside it
the state that they come to (`mead.deck.snapshot.standing`).  The page's fold is tested with the
same files.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson
from gevent.event import Event as Signal

from mead.actors.tasks import TaskSupervisor
from mead.api import Mead
from mead.deck.events import Event
from mead.deck.fold import apply
from mead.deck.snapshot import standing
from mead.deck.state import DeckState
from tests.deck.conftest import HELLO, Tools, opened, router
from tests.deck.device import Device, everyone

RECORDINGS: Final = Path(__file__).parent / "recordings"
WRITE: Final = {"name": "notes__write", "arguments": {"text": "buy tea 🍵"}}
READ: Final = {"name": "notes__read", "arguments": {"id": 7}}
ASK: Final = {
    "name": "ask_user",
    "arguments": {"prompt": "Which tea?", "options": ["green", "black"]},
}


@contextmanager
def talk(script: Any, **deck: Any) -> Iterator[Device]:
    """A device at a new conversation."""
    tools, tasks = Tools(), TaskSupervisor()
    tools.add("notes__read", "read")
    tools.add("notes__write", "effect")
    settings = {"runtime": {"turn_handler": "router", "default_route": "local"}, "deck": deck}
    with (
        Mead(settings, handlers={"router": router(script, tools, tasks)}) as mead,
        everyone() as devices,
    ):
        yield devices.at(*opened(mead), name="phone").come()
    tasks.stop()


def one_turn() -> Device:
    with talk(HELLO) as device:
        device.ask("What is tea?", "m1", route="local")
    return device


def queue_and_cancel() -> Device:
    go = Signal()
    with talk(lambda request: f"to {request.prompt}" if go.wait(5) else "") as device:
        for number in range(4):
            device.send(f"prompt {number}", f"m{number}")
        device.say("prompt.cancel", client_message_id="m2")
        device.hear("prompt.cancelled")
        go.set()
        for _ in range(3):
            device.hear_end()
    return device


def running_with_a_queue() -> Device:
    go = Signal()
    with talk(lambda request: "late" if go.wait(5) else "") as device:
        device.send("runs", "m1")
        device.hear("turn.routed")
        device.send("waits", "m2")
        device.send("waits, too", "m3")
        device.hear("prompt.accepted")
        device.hear("prompt.accepted")
        kept = list(device.events)
        go.set()
        device.hear_end()
    device.events = kept
    return device


def permissions() -> Device:
    script = [{"tool_calls": [READ, WRITE]}, {"tool_calls": [WRITE]}, {"text": "Noted."}]
    with talk(script) as device:
        device.send("Remember tea", "m1")
        request = _asked(device, "permission.requested", "high")
        device.say("request.extend", request_id=request)
        device.say("permission.respond", request_id=request, answer="allow_always")
        device.hear_end()
        device.say("permission.forget", tool="notes__write")
        device.send("Again", "m2")
        request = _asked(device, "permission.requested", "high")
        device.say("permission.respond", request_id=request, answer="reject_once")
        request = _asked(device, "permission.requested", "high")
        device.say("permission.respond", request_id=request, answer="allow_always")
        device.hear_end()
        device.say("policy.set", level="read_only")
        device.hear("policy.updated")
    return device


def pending_permission() -> Device:
    with talk([{"text": "Let me note that.", "tool_calls": [WRITE]}, {"text": "Noted."}]) as device:
        device.send("Remember tea", "m1")
        request = _asked(device, "permission.requested", "high")
        device.say("request.extend", request_id=request)
        device.hear("request.extended")
        kept = list(device.events)
    device.events = kept
    return device


def questions() -> Device:
    with talk([{"tool_calls": [READ, ASK]}, {"text": "Green it is."}]) as device:
        device.send("Make tea", "m1")
        question = device.hear("choice.requested")["payload"]["request_id"]
        device.say("choice.respond", request_id=question, option="green")
        device.hear_end()
        device.send("And again", "m2")
        device.hear("choice.requested")
        device.say("turn.cancel", turn_id=device.of("turn.started")[1]["turn_id"])
        device.hear_end()
    return device


def failures() -> Device:
    with talk([{"text": "It begins well", "error": "overloaded"}]) as device:
        device.ask("Fail", "m1")
        device.ask("And fail", "m2", route="cloud")
    return device


def titled() -> Device:
    with talk(HELLO) as device:
        device.ask("  A first prompt\nthat is longer than sixty characters, so that it is cut  ")
        device.mead.deck().set_title(device.session_id, "Tea", "laptop")
        device.hear("session.titled")
    return device


def begun_in_the_middle() -> Device:
    with talk(HELLO, event_log_limit=12) as device:
        for number in range(4):
            device.ask(f"prompt {number}", f"m{number}")
        late = Device(device.mead, device.session_id, "late").come(last_sequence=0)
        late.hear_all(device.last_sequence)
        late.leave()
    return late


def _asked(device: Device, type_: str, risk: str) -> str:
    while True:
        payload = device.hear(type_)["payload"]
        if payload.get("risk") == risk:
            return payload["request_id"]


CONVERSATIONS: Final[tuple[Callable[[], Device], ...]] = (
    one_turn,
    queue_and_cancel,
    running_with_a_queue,
    permissions,
    pending_permission,
    questions,
    failures,
    titled,
    begun_in_the_middle,
)
NAMES: Final = [conversation.__name__ for conversation in CONVERSATIONS]


def lines(path: Path) -> list[dict[str, Any]]:
    """The events of a recording, or of another file like it."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def expected(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client that begins with the first of these events comes to."""
    state = DeckState()
    state.last_sequence = events[0]["sequence"] - 1
    for event in events:
        apply(state, Event.decode(event))
    return standing(state, "ask_for_risky")


def main() -> None:
    RECORDINGS.mkdir(exist_ok=True)
    for conversation in CONVERSATIONS:
        events = conversation().events
        path = RECORDINGS / f"{conversation.__name__}.jsonl"
        path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
        state = orjson.dumps(expected(events), option=orjson.OPT_INDENT_2)
        path.with_suffix(".json").write_bytes(state + b"\n")


if __name__ == "__main__":
    main()
