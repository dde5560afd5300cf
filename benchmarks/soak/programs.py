"""Players that come through MCP."""

import json
import time
from collections.abc import Callable

from benchmarks.soak.mcp import Refused
from benchmarks.soak.player import Player
from benchmarks.soak.words import words
from tests.helpers.mcp_http import raw_post
from tests.helpers.mcp_messages import call

TOOL_FAULTS = (
    "connection_lost",
    "not_connected",
    "unreachable",
    "unknown_session",
    "timeout",
    "There is no tool",
)
"""What the model is told of a server that has died just now, docs/tools.md."""
HASTY_MS = 300


def said(count: int) -> str:
    """The answer to `say COUNT`."""
    return "".join(words(count))


class Talker(Player):
    """A conversation with everything: started, used, compacted, stopped, resumed, deleted."""

    def lap(self) -> None:
        session_id = self.mcp.use("start_session")["session_id"]
        turns = self.chance.randrange(4, 10)
        for _ in range(turns):
            self.chance.choice(TURNS)(self, session_id)
            self.rest(0.05, 0.4)
        self.has(session_id, turns)
        sizes = self.mcp.use("compact_session", session_id=session_id)
        self.tally.is_equal("compact", sizes["bytes_after"] <= sizes["bytes_before"], True)
        self.mcp.use("stop_session", session_id=session_id)
        self.has(session_id, turns)
        self.mcp.use("resume_session", session_id=session_id)
        self.say(session_id)
        self.has(session_id, turns + 1)
        self.delete(session_id)

    def has(self, session_id: str, turns: int) -> None:
        """The conversation has so many turns."""
        found = self.mcp.use("history", session_id=session_id)
        self.tally.is_equal("history", found["total"], turns)

    def delete(self, session_id: str) -> None:
        """It is gone, and so is its history."""
        self.mcp.use("delete_session", session_id=session_id)
        try:
            self.mcp.use("history", session_id=session_id)
            self.tally.fault("deleted", "a deleted conversation has a history")
        except Refused as refused:
            self.tally.begins("deleted", str(refused), "not_found")

    # -- turns -------------------------------------------------------------------------------------

    def say(self, session_id: str) -> None:
        count = self.chance.randrange(1, 40)
        self.tally.is_equal("say", self.mcp.turn(session_id, f"say {count}"), said(count))

    def far_say(self, session_id: str) -> None:
        count, verb = self.chance.randrange(1, 40), self.chance.choice(("say", "say", "flaky"))
        prompt = f"{verb} {count} 0 {self.chance.getrandbits(32)}"
        found = self.mcp.turn(session_id, prompt, route="cloud")
        self.tally.is_equal(f"wire {verb}", found, said(count))

    def far_cut(self, session_id: str) -> None:
        found = self.mcp.turn(session_id, "cut 5", route="cloud")
        self.tally.begins("wire cut", found, "failed (provider", "failed (bad_response")

    def sum(self, session_id: str) -> None:
        a, b = self.chance.randrange(1000), self.chance.randrange(1000)
        verb = self.chance.choice(("sum", "far"))
        self.tally.is_equal(verb, self.mcp.turn(session_id, f"{verb} {a} {b}"), str(a + b))

    def frail(self, session_id: str) -> None:
        found = self.mcp.turn(session_id, "frail 1 2")
        self.tally.begins("frail", found, "3", *TOOL_FAULTS)

    def fail(self, session_id: str) -> None:
        self.tally.begins("fail", self.mcp.turn(session_id, "fail"), "failed (overloaded)")

    def watch(self, session_id: str) -> None:
        *shown, last = self.mcp.watched(session_id, "say 20 20")
        lengths = [each["params"]["progress"] for each in shown]
        self.tally.is_equal("progress grows", lengths, sorted(set(lengths)))
        self.tally.is_equal("watched", last["result"]["structuredContent"]["output"], said(20))

    def leave(self, session_id: str) -> None:
        """Go away in the middle of a turn: it goes on."""
        before = self.mcp.use("history", session_id=session_id)["total"]
        arguments = {"session_id": session_id, "input": "say 10 20"}
        with self.server.connect() as connection:
            connection.sendall(raw_post(json.dumps(call("submit_turn", arguments)).encode()))
            self._await(session_id, before, "running")
        turn = self._await(session_id, before, "completed")
        self.tally.is_equal("left alone", turn["output"], said(10))

    def _await(self, session_id: str, before: int, status: str) -> dict:
        """The newest turn once it is that far.  Raises TimeoutError."""
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            found = self.mcp.use("history", session_id=session_id, limit=1)
            if found["total"] > before and found["turns"][0]["status"] in (status, "completed"):
                return found["turns"][0]
            time.sleep(0.02)
        raise TimeoutError(f"the turn is not {status}")


TURNS: tuple[Callable[[Talker, str], None], ...] = (
    Talker.say,
    Talker.say,
    Talker.sum,
    Talker.sum,
    Talker.far_say,
    Talker.far_say,
    Talker.far_cut,
    Talker.frail,
    Talker.fail,
    Talker.watch,
    Talker.leave,
)


class Hasty(Player):
    """Turns that outlive their time."""

    pause_s = (1.0, 3.0)

    def lap(self) -> None:
        session_id = self.mcp.use("start_session", turn_timeout_ms=HASTY_MS)["session_id"]
        found = self.mcp.turn(session_id, "say 100 50")
        self.tally.begins("timeout", found, "timeout")
        found = self.mcp.turn(session_id, "say 100 50", route="cloud")
        self.tally.begins("wire timeout", found, "timeout")
        self.tally.is_equal("after a timeout", self.mcp.turn(session_id, "say 3"), said(3))
        self.mcp.use("delete_session", session_id=session_id)


class Guest(Player):
    """Turns of one handler, by name."""

    pause_s = (0.4, 0.6)
    handler = "guest"

    def lap(self) -> None:
        session_id = self.mcp.use("start_session", handler=self.handler)["session_id"]
        for _ in range(10):
            self.tally.is_equal("guest", self.mcp.turn(session_id, "hello"), "hello")
        self.mcp.use("delete_session", session_id=session_id)
