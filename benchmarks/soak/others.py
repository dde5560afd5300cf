"""Players that do harm, or look after things."""

import subprocess
import sys
import time

from benchmarks.soak.player import Player
from benchmarks.soak.programs import TOOL_FAULTS
from benchmarks.soak.stage import TICKET_MS
from tests.deck.e2e.client import KEY, ticket
from tests.helpers.mcp_http import AUTHORIZED
from tests.helpers.mcp_messages import request
from tests.helpers.server import MCP_TOKEN, ROOT

BACK_S = 60.0
"""How long a tool server may take to be back: the longest back-off is 30 s."""


class Stranger(Player):
    """Wrong tokens, requests that break off, bytes that mean nothing, tickets nobody uses."""

    pause_s = (2.0, 5.0)

    def lap(self) -> None:
        self._guess()
        self._break_off()
        self._look()
        ticket(self.server)
        self.rest(TICKET_MS / 1000)

    def _guess(self) -> None:
        wrong = {"Authorization": "Bearer " + "x" * 40}
        for path in ("/mcp", "/deck/ticket", "/metrics"):
            method = "GET" if path == "/metrics" else "POST"
            status = self.server.request(method, path, headers=wrong).status_code
            self.tally.is_in("wrong token", status, (401, 429))
        message = request("ping")
        answer = self.server.request("POST", "/mcp", json=message, headers=AUTHORIZED)
        self.tally.is_equal("right token", answer.json()["result"], {})

    def _break_off(self) -> None:
        head = f"POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {MCP_TOKEN}\r\n"
        body = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        for data in (head, head + body, "\x16\x03\x01nonsense\r\n\r\n", "GET"):
            with self.server.connect() as connection:
                connection.sendall(data.encode())
                self.rest(0.1, 1.0)

    def _look(self) -> None:
        for path in ("/healthz", "/readyz", "/deck/"):
            self.tally.is_equal(path, self.server.get(path).status_code, 200)
        self.tally.is_equal("/nothing", self.server.get("/nothing").status_code, 404)
        self.tally.is_equal(
            "/deck/info", self.server.get("/deck/info", headers=KEY).status_code, 200
        )


class Reaper(Player):
    """Tool servers that die and come back."""

    pause_s = (30.0, 50.0)

    def run(self) -> None:
        self.pause_s = (1.0, 2.0)  # the first time at once: a short soak has this, too
        super().run()

    def lap(self) -> None:
        session_id = self.mcp.use("start_session")["session_id"]
        found = self.mcp.turn(session_id, "die")
        self.tally.begins("die", found, *TOOL_FAULTS)
        self.stage.frail.stop()
        self.tally.begins("down", self.mcp.turn(session_id, "frail 1 2"), *TOOL_FAULTS)
        self.stage.frail.start()
        self._await_return(session_id)
        self.mcp.use("delete_session", session_id=session_id)
        self.pause_s = type(self).pause_s

    def _await_return(self, session_id: str) -> None:
        limit = time.monotonic() + BACK_S
        while (found := self.mcp.turn(session_id, "frail 1 2")) != "3":
            if time.monotonic() > limit:
                break
            time.sleep(0.5)
        self.tally.is_equal("came back", found, "3")


class Operator(Player):
    """Commands, through the control socket."""

    pause_s = (60.0, 90.0)

    def run(self) -> None:
        self.pause_s = (5.0, 6.0)
        super().run()

    def lap(self) -> None:
        self.pause_s = type(self).pause_s
        for words in (("sessions", "list", "--json"), ("usage", "--json")):
            done = subprocess.run(
                [sys.executable, "-m", "flask", "mead", *words],
                cwd=ROOT,
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(self.stage.directory),
                    "MEAD_CONFIG": str(self.stage.directory / "mead.toml"),
                },
                capture_output=True,
                timeout=60,
                check=False,
            )
            self.tally.is_equal(f"command {words[0]}", done.returncode, 0)
