"""The example of docs/deck-protocol.md, from a real run.

`python -m gevent.monkey --module tests.deck.example` writes it into the page.
"""

import re
from pathlib import Path
from typing import Any, Final

import orjson

from tests.deck.device import Device
from tests.deck.record import WRITE, talk

PAGE: Final = Path(__file__).parents[2] / "docs" / "deck-protocol.md"
BEGIN: Final = "<!-- example: made by tests/deck/example.py -->\n"
END: Final = "<!-- end of the example -->\n"

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_DURATION: Final = re.compile(r'"duration_ms":\d+')


class Script:
    """What was said, line by line."""

    def __init__(self, device: Device) -> None:
        self.lines: list[str] = []
        self._device = device

    def say(self, type_: str, **payload: Any) -> None:
        self.lines.append("> " + orjson.dumps({"type": type_, "payload": payload}).decode())
        self._device.say(type_, **payload)

    def hear(self, type_: str) -> dict[str, Any]:
        """The messages up to one of that type; its payload."""
        while True:
            message = self._device.hear()
            self.lines.append("< " + orjson.dumps(message).decode())
            if message["type"] == type_:
                return message["payload"]

    def hear_end(self) -> None:
        while self.hear("metric.updated")["name"] != "tokens_out":
            pass


def example() -> str:
    """The conversation, with ids and times that are the same in every run."""
    usage = {"input": 21, "output": 5}
    answers = [
        {"text": "I will note that.", "tool_calls": [WRITE]},
        {"text": "Noted.", "usage": usage},
    ]
    with talk(answers) as device:
        device.leave()
        device.connect()
        script = Script(device)
        script.say("session.resume", last_sequence=0, device_id="phone")
        script.hear("session.snapshot")
        script.say("prompt.send", client_message_id="m-1", text="Remind me to buy tea")
        request = script.hear("permission.requested")
        script.say("permission.respond", request_id=request["request_id"], answer="allow_always")
        script.hear_end()
    return "```\n" + steady("\n".join(script.lines)) + "\n```\n"


def steady(text: str) -> str:
    """Ids and times replaced, each by the same one everywhere."""
    ids: dict[str, str] = {}

    def id_(match: re.Match[str]) -> str:
        return ids.setdefault(match[0], f"{len(ids) + 1:08x}-0000-4000-8000-000000000000")

    text = _TIME.sub("2026-11-30T14:00:00.000Z", _UUID.sub(id_, text))
    return _DURATION.sub('"duration_ms":1234', text)


def parts(page: str) -> tuple[str, str, str]:
    """What stands before the example, the example, and what follows."""
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    return before + BEGIN, shown, END + after


def main() -> None:
    before, _, after = parts(PAGE.read_text())
    PAGE.write_text(before + example() + after)


if __name__ == "__main__":
    main()
