"""Players that come as devices of the deck."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from benchmarks.soak.model import OPTIONS
from benchmarks.soak.player import Player
from benchmarks.soak.programs import said
from tests.deck.e2e.client import Client, ask, text_of
from tests.helpers.raw_websocket import CLOSE

GONE = 4404
SLOW = 1013
IDLE = (1001, "idle")
BUFFER = 4096
"""The receive buffer of who does not read: the kernel takes little off the server's hands."""
FLOODS = 3
"""Turns of 1.6 MB: more than a socket's queue and the kernel's buffers hold."""


class Phone(Player):
    """A conversation on one or two devices: asked, answered, cancelled, left, resumed, deleted."""

    def lap(self) -> None:
        self.sent = 0
        with Client(self.server).come() as self.device:
            for _ in range(self.chance.randrange(3, 7)):
                self.chance.choice(ACTS)(self)
                self.rest(0.05, 0.4)
            self.compare()
            ask(self.server, "DELETE", f"sessions/{self.device.session_id}")
            self.tally.is_equal("closed", (self.device.hear_out() or (0,))[0], GONE)

    def send(self, text: str) -> str:
        """A prompt; its id."""
        self.sent += 1
        self.device.send(text, f"m{self.sent}")
        return f"m{self.sent}"

    def ended(self, before: int) -> str:
        """Hear the turn out; the text of what came after `before` events."""
        return text_of(self.device.hear_end()[before:])

    def compare(self) -> None:
        """Another device is told the same."""
        device = self.device
        with Client(self.server, device.session_id, "tablet").come() as other:
            while other.last_sequence < device.last_sequence:
                other.receive()
            same = [
                each for each in device.events if each["sequence"] >= other.events[0]["sequence"]
            ]
            self.tally.is_equal("two devices", other.events == same, True)

    # -- what it does ------------------------------------------------------------------------------

    def say(self) -> None:
        count, before = self.chance.randrange(1, 30), len(self.device.events)
        self.send(f"say {count} 2")
        self.tally.is_equal("deck say", self.ended(before), said(count))

    def leave(self) -> None:
        """Drop the line in the middle of an answer, and come back for the rest."""
        before = len(self.device.events)
        self.send("say 25 10")
        self.device.hear("text.delta")
        self.device.leave()
        self.rest(0.01, 0.3)
        self.device.come()
        self.tally.is_equal("resumed", self.ended(before), said(25))

    def write(self) -> None:
        """A call that needs a person, who allows it, refuses it or is away."""
        answer = self.chance.choice(("allow_once", "reject_once", None))
        before = len(self.device.events)
        self.send("write")
        asked = self.device.hear("permission.requested")["payload"]["request_id"]
        if answer is not None:
            self.device.say("permission.respond", request_id=asked, answer=answer)
        outcome = self.device.hear("permission.resolved")["payload"]["outcome"]
        self.tally.is_equal("permission", outcome, answer or "expired")
        text = self.ended(before)
        self.tally.is_equal(f"write {outcome}", text == "written", answer == "allow_once")

    def allow(self) -> None:
        """A call that is allowed for good, until that is taken back."""
        self.send("write")
        asked = self.device.hear("permission.requested")["payload"]["request_id"]
        self.device.say("permission.respond", request_id=asked, answer="allow_always")
        self.device.hear_end()
        before = len(self.device.events)
        self.send("write")
        self.tally.is_equal("remembered", self.ended(before), "written")
        self.device.say("permission.forget", tool="near__write")
        self.device.hear("permission.forgotten")

    def choose(self) -> None:
        """A question, which somebody answers or nobody."""
        option = self.chance.choice((*OPTIONS, None))
        self.send("choose")
        asked = self.device.hear("choice.requested")["payload"]["request_id"]
        if option is not None:
            self.device.say("choice.respond", request_id=asked, option=option)
        resolved = self.device.hear("choice.resolved")["payload"]
        self.tally.is_equal("choice", resolved["option"], option)
        self.device.hear_end()

    def cancel(self) -> None:
        """A turn that is ended, and a prompt that never began."""
        self.send("say 500 20")
        turn = self.device.hear("turn.started")["payload"]["turn_id"]
        second = self.send("say 1")
        self.device.hear("prompt.accepted")
        self.device.say("prompt.cancel", client_message_id=second)
        reason = self.device.hear("prompt.cancelled")["payload"]["reason"]
        self.tally.is_equal("prompt cancelled", reason, "by_person")
        self.device.say("turn.cancel", turn_id=turn)
        reason = self.device.hear("turn.failed")["payload"]["reason"]
        self.tally.is_equal("turn cancelled", reason, "cancelled")
        self.device.hear_end()

    def level(self) -> None:
        """Another level, under which nobody is asked."""
        before = len(self.device.events)
        self.device.say("policy.set", level="allow_all")
        self.device.hear("policy.updated")
        self.send("write")
        self.tally.is_equal("allow_all", self.ended(before), "written")
        self.device.say("policy.set", level="ask_for_risky")
        self.device.hear("policy.updated")

    def beside(self) -> None:
        """A turn that comes through another door is shown here."""
        found = self.mcp.turn(self.device.session_id, "say 4")
        self.tally.is_equal("other door", found, said(4))
        self.tally.is_equal(
            "shown", self.device.hear("prompt.accepted")["payload"]["origin"], "mcp"
        )
        self.device.hear_end()

    def name(self) -> None:
        """Another title; the list has it."""
        title = f"title {self.chance.randrange(1000)}"
        ask(self.server, "PATCH", f"sessions/{self.device.session_id}", json={"title": title})
        self.device.hear("session.titled")
        listed: list[dict[str, Any]] = ask(self.server, "GET", "sessions").json()["sessions"]
        titles = [each["title"] for each in listed if each["session_id"] == self.device.session_id]
        self.tally.is_equal("title", titles, [title])

    def stop(self) -> None:
        """The conversation is stopped; a ticket resumes it."""
        ask(self.server, "POST", f"sessions/{self.device.session_id}/stop")
        self.tally.is_equal("stopped", (self.device.hear_out() or (0,))[0], 4409)
        self.device.come()


ACTS: tuple[Callable[[Phone], None], ...] = (
    Phone.say,
    Phone.say,
    Phone.leave,
    Phone.leave,
    Phone.write,
    Phone.write,
    Phone.allow,
    Phone.choose,
    Phone.cancel,
    Phone.level,
    Phone.beside,
    Phone.name,
    Phone.stop,
)


class Away(Player):
    """Leaves a conversation until its channel has ended, and finds it as it was."""

    away_s = 65.0

    def lap(self) -> None:
        with Client(self.server).come() as device:
            self.tally.is_equal("before", device.ask("say 5"), said(5))
            device.leave()
            self.rest(self.away_s)
            device.come()
            self.tally.is_equal("after", device.ask("say 6", "m2"), said(6))
            device.leave()
            ask(self.server, "DELETE", f"sessions/{device.session_id}")


class Silent(Player):
    """Answers no ping: closed as idle."""

    pause_s = (5.0, 10.0)

    def lap(self) -> None:
        with Client(self.server).come() as device:
            while (got := device.socket.receive()) is not None and got.opcode is not CLOSE:
                pass
            closed = None if got is None else (int.from_bytes(got.data[:2]), got.data[2:].decode())
            self.tally.is_equal("idle", closed, IDLE)
            device.leave()
            ask(self.server, "DELETE", f"sessions/{device.session_id}")


class Slow(Player):
    """Does not read while much is said: closed as too slow, and lacks nothing in the end."""

    pause_s = (15.0, 30.0)

    def lap(self) -> None:
        with Client(self.server).come() as talker:
            with Client(self.server, talker.session_id, "slow").come(buffer=BUFFER) as slow:
                for number in range(FLOODS):
                    talker.ask("flood 100", f"m{number}")
                with suppress(EOFError):  # in the middle of a frame
                    slow.hear_out()
                # It is told so if it reads again within a second, and cut if it does not.
                self.tally.is_in("slow", slow.closed, (None, (SLOW, "too slow")))
                slow.come()
                while slow.last_sequence < talker.last_sequence:
                    slow.receive()
                same = text_of(slow.events) == text_of(talker.events)
                self.tally.is_equal("caught up", same, True)
            ask(self.server, "DELETE", f"sessions/{talker.session_id}")
