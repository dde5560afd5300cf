"""A server with one device at one conversation, until it is killed.

Run with `python -m gevent.monkey --module tests.deck.talker`.

Tells on standard output what the device was sent, one JSON object a line; the first line is the
snapshot.  With `--finish` it asks one more prompt, waits until nothing runs or waits, and ends.
"""

import argparse
import os
import random
from typing import Any

import orjson

from mead.actors.tasks import TaskSupervisor
from mead.api import Mead
from tests.deck.conftest import Tools, router
from tests.deck.device import Device, everyone

READ = {"name": "notes__read", "arguments": {}}
WRITE = {"name": "notes__write", "arguments": {}}
ASK = {"name": "ask_user", "arguments": {"prompt": "Which?", "options": ["a", "b"]}}
SCRIPT: list[Any] = [
    {"chunks": ["let ", "me ", "see "] * 3, "delay_ms": 2, "tool_calls": [READ, WRITE, ASK]},
    {"chunks": ["one ", "two ", "three "] * 20, "delay_ms": 1},
]
SETTINGS: dict[str, Any] = {
    "runtime": {"turn_handler": "router", "default_route": "local"},
    "deck": {"permission_timeout_ms": 300},
}


def tell(message: dict[str, Any]) -> None:
    os.write(1, orjson.dumps(message) + b"\n")


class Talker:
    """Says prompts, answers some requests, tells what it hears."""

    def __init__(self, device: Device, life: int) -> None:
        self._device = device
        self._life = life
        self._chance = random.Random(life)
        self._sent = 0

    def talk(self) -> None:
        self._prompt()
        while True:
            message = self._hear()
            is_end = message["payload"].get("name") == "tokens_out"
            if is_end or self._chance.random() < 0.05:
                self._prompt()

    def finish(self) -> None:
        self._prompt()
        device = self._device
        while True:
            accepted, ended = len(device.of("prompt.accepted")), len(device.of("prompt.cancelled"))
            ended += sum(metric["name"] == "tokens_out" for metric in device.of("metric.updated"))
            if accepted == ended and self._message_id() in self._seen():
                return
            self._hear()

    def _seen(self) -> set[str]:
        return {each["client_message_id"] for each in self._device.of("prompt.accepted")}

    def _message_id(self) -> str:
        return f"life{self._life}-{self._sent}"

    def _prompt(self) -> None:
        self._sent += 1
        self._device.send(f"prompt {self._message_id()}", self._message_id())

    def _hear(self) -> dict[str, Any]:
        message = self._device.hear()
        tell(message)
        answered = self._chance.random() < 0.8
        if message["type"] == "permission.requested" and answered:
            answer = self._chance.choice(["allow_once", "reject_once"])
            request_id = message["payload"]["request_id"]
            self._device.say("permission.respond", request_id=request_id, answer=answer)
        if message["type"] == "choice.requested" and answered:
            request_id = message["payload"]["request_id"]
            self._device.say("choice.respond", request_id=request_id, option="a")
        return message


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--session")
    parser.add_argument("--life", type=int, default=0)
    parser.add_argument("--finish", action="store_true")
    parser.add_argument("--fsync", default="turn")
    asked = parser.parse_args()
    tools = Tools()
    tools.add("notes__read", "read")
    tools.add("notes__write", "effect")
    settings = {**SETTINGS, "storage": {"directory": asked.directory, "fsync": asked.fsync}}
    handlers = {"router": router(SCRIPT, tools, TaskSupervisor())}
    with Mead(settings, handlers=handlers) as mead, everyone() as devices:
        deck = mead.deck()
        session_id = deck.redeem(deck.issue_ticket(asked.session).ticket)
        device = devices.at(mead, session_id).come(last_sequence=0)
        tell({"type": "session.snapshot", "payload": device.snapshot})
        talker = Talker(device, asked.life)
        if asked.finish:
            talker.finish()
        else:
            talker.talk()


if __name__ == "__main__":
    main()
