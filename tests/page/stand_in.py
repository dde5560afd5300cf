"""A small server that speaks the deck protocol of SPEC section 8, for the page's own tests.

It serves the real page through blueprints.static_page, keeps each conversation's log in a file, and
plays tests/page/scenarios.py.  Threads, one process: `python -m tests.page.stand_in PORT FOLDER`.
It checks little: what the page sends is the page's tests' subject, not what it should not send.
"""

import json
import sys
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any, Final

from flask import Flask, Response, jsonify, request
from flask_sock import Sock
from simple_websocket import ConnectionClosed
from werkzeug.serving import make_server

from blueprints.static_page import StaticPage
from tests.page import scenarios

TOKEN: Final = "deck-token-for-tests-0123456789abcde"
CODE: Final = "single-use-code-"
"""How a code begins; each is taken once."""
ROOT: Final = Path(__file__).parents[2]
LIMITS: Final = {
    "frame_bytes": 65_536,
    "text_characters": 60_000,
    "heartbeat_ms": 2_000,
    "idle_timeout_ms": 90_000,
    "queue_limit": 3,
}
PERMISSION_MS: Final = 120_000
SLOTS: Final = {
    "local": {"provider": "scripted", "model": "llama3.2:3b", "host": "127.0.0.1:11434"},
    "cloud": {
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "host": "api.anthropic.com:443",
    },
}


def now(later_ms: float = 0) -> str:
    moment = datetime.now(UTC) + timedelta(milliseconds=later_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Cancelled(Exception):
    """The turn was stopped."""


class Conversation:
    """One log, one queue, one running turn."""

    def __init__(self, id_: str, folder: Path) -> None:
        self.id, self.path = id_, folder / f"{id_}.jsonl"
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.events: list[dict[str, Any]] = []
        self.sockets: set[Any] = set()
        self.queue: list[dict[str, Any]] = []
        self.turn: dict[str, Any] | None = None
        self.cancelled: set[str] = set()
        self.pending: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, dict[str, Any]] = {}
        self.remembered: set[str] = set()
        self.level = "ask_for_risky"
        self.title: str | None = None
        self.known: dict[str, dict[str, Any]] = {}
        self.stopped = False
        self.recover()
        threading.Thread(target=self.work, daemon=True).start()

    # -- the log -------------------------------------------------------------------------------

    def recover(self) -> None:
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                self.take(json.loads(line))
        if self.turn is not None:
            self.finish(
                self.turn["turn_id"], ("interrupted", "the server stopped while answering"), None
            )

    def emit(self, type_: str, payload: dict[str, Any]) -> None:
        with self.lock:
            event = {
                "type": type_,
                "sequence": len(self.events) + 1,
                "at": now(),
                "payload": payload,
            }
            with self.path.open("a") as file:
                file.write(json.dumps(event) + "\n")
            self.take(event)
            for socket in list(self.sockets):
                self.tell(socket, event)
            self.changed.notify_all()

    def take(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        type_, payload = event["type"], event["payload"]
        if type_ in ("turn.completed", "turn.failed"):
            self.pending.clear()
        elif type_ == "metric.updated":
            self.turn = self.turn if payload["name"] == "tokens_in" else None
        elif type_.startswith(("prompt.", "turn.")):
            self.take_prompt(type_, payload, event)
        elif type_ in ("policy.updated", "session.titled"):
            self.level, self.title = (
                payload.get("level", self.level),
                payload.get("title", self.title),
            )
        elif type_ == "permission.forgotten":
            self.remembered.discard(payload["tool"])
        elif "request_id" in payload:
            self.take_request(type_, payload)

    def take_prompt(self, type_: str, payload: dict[str, Any], event: dict[str, Any]) -> None:
        if type_ == "prompt.accepted":
            self.queue.append(payload)
            self.known[payload["client_message_id"]] = event
            self.title = self.title or " ".join(payload["text"].split())[:60]
        elif type_ in ("prompt.cancelled", "turn.started"):
            prompt = next(one for one in self.queue if one["turn_id"] == payload["turn_id"])
            self.queue.remove(prompt)
            if type_ == "turn.started":
                self.turn = {**prompt, "started_at": event["at"]}

    def take_request(self, type_: str, payload: dict[str, Any]) -> None:
        if type_.endswith(".requested"):
            self.pending[payload["request_id"]] = payload
        elif type_ == "request.extended":
            self.pending[payload["request_id"]]["expires_at"] = payload["expires_at"]
        else:
            self.pending.pop(payload["request_id"], None)
            if payload.get("remember"):
                self.remembered.add(payload["remember"])

    def tell(self, socket: Any, message: dict[str, Any]) -> None:
        try:
            socket.send(json.dumps(message))
        except (ConnectionClosed, OSError):
            self.sockets.discard(socket)

    def snapshot(self, resume: dict[str, Any]) -> tuple[dict[str, Any], int]:
        last, other = resume["last_sequence"], resume.get("log_id") not in (None, self.id)
        reset = other or last > len(self.events)
        turn = self.turn and {
            "turn_id": self.turn["turn_id"],
            "client_message_id": self.turn["client_message_id"],
            "started_at": self.turn["started_at"],
            "open_calls": [],
        }
        payload = {
            "session_id": self.id,
            "log_id": self.id,
            "first_sequence": 1,
            "last_sequence": len(self.events),
            "reset": reset,
            "gap": False,
            "durable": True,
            "turn": turn,
            "queue": self.queue,
            "policy_level": self.level,
            "remembered_tools": sorted(self.remembered),
            "pending": list(self.pending.values()),
            "title": self.title,
            "limits": LIMITS,
        }
        return payload, 0 if reset else last

    # -- turns ---------------------------------------------------------------------------------

    def work(self) -> None:
        while not self.stopped:
            with self.lock:
                while not self.queue and not self.stopped:
                    self.changed.wait()
                if self.stopped:
                    return
                turn = self.queue[0]
                self.emit("turn.started", {"turn_id": turn["turn_id"]})
            self.run(turn)

    def run(self, turn: dict[str, Any]) -> None:
        turn_id, began = turn["turn_id"], datetime.now(UTC)
        try:
            self.route(turn)
            usage, fault = self.rounds(turn), None
        except Cancelled:
            usage, fault = None, ("cancelled", "the turn was cancelled")
        except RuntimeError as error:
            usage, fault = None, (str(error), "the provider is overloaded; try again later")
        took = round((datetime.now(UTC) - began).total_seconds() * 1000)
        self.finish(turn_id, fault, usage, took)

    def finish(
        self, turn_id: str, fault: tuple[str, str] | None, usage: Any, took: int = 0
    ) -> None:
        for request_id, asked in list(self.pending.items()):
            kind = "choice" if "options" in asked else "permission"
            ending = {"option": None} if kind == "choice" else {"outcome": "expired"}
            self.emit(f"{kind}.resolved", {"request_id": request_id, **ending})
        if fault:
            payload = {"turn_id": turn_id, "reason": fault[0], "message": fault[1]}
            self.emit("turn.failed", payload)
        else:
            payload = {"turn_id": turn_id, "stop_reason": "end_turn", "duration_ms": took}
            self.emit("turn.completed", payload)
        for name, key in (("tokens_in", "input"), ("tokens_out", "output")):
            value = usage and usage[key]
            self.emit("metric.updated", {"turn_id": turn_id, "name": name, "value": value})

    def route(self, turn: dict[str, Any]) -> None:
        asked, text = turn["route"] or "auto", turn["text"]
        route = asked if asked != "auto" else ("cloud" if "why" in text.lower() else "local")
        source = "forced" if asked != "auto" else "classified"
        reason = {"forced": "asked for", "classified": "asks for a lookup"}[source]
        if route == "cloud" and source == "classified":
            reason = "asks for reasoning: why"
        facts = {"route": route, "route_source": source, "reason": reason, **SLOTS[route]}
        self.emit("turn.routed", {"turn_id": turn["turn_id"], **facts})

    def rounds(self, turn: dict[str, Any]) -> dict[str, int] | None:
        for round_ in range(8):
            step = scenarios.step_for(turn["text"], round_)
            for chunk in step.get("chunks", ()):
                sleep(step.get("delay_ms", 0) / 1000)
                self.check(turn)
                self.emit("text.delta", {"turn_id": turn["turn_id"], "text": chunk})
            if "error" in step:
                raise RuntimeError(step["error"])
            for call in step.get("tool_calls", ()):
                self.call(turn, call["name"], call["arguments"])
            if not step.get("tool_calls"):
                return step.get("usage")
        return None

    def check(self, turn: dict[str, Any]) -> None:
        if turn["turn_id"] in self.cancelled:
            raise Cancelled

    def call(self, turn: dict[str, Any], name: str, arguments: dict[str, Any]) -> None:
        turn_id = turn["turn_id"]
        if name == "ask_user":
            self.ask(turn, "choice", {"turn_id": turn_id, **arguments})
            return
        server, _, tool = name.partition("__")
        call_id = str(uuid.uuid4())
        kind = "effect" if tool == "write" else "read"
        shown = {"call_id": call_id, "server": server, "tool": tool, "class": kind}
        self.emit("tool_call.started", {"turn_id": turn_id, **shown, "arguments": arguments})
        outcome = self.permit(turn, call_id, name, kind, arguments)
        status, summary = "denied", "the person did not allow it"
        if outcome.startswith("allow"):
            cancelled = self.sleep(turn, call_id, tool, arguments)
            status = "cancelled" if cancelled else "ok"
            summary = "" if cancelled else scenarios.tool_result(tool, arguments)
        payload = {"turn_id": turn_id, "call_id": call_id, "status": status, "summary": summary}
        self.emit("tool_call.finished", payload)

    def sleep(self, turn: dict[str, Any], call_id: str, tool: str, arguments: Any) -> bool:
        for _ in range(arguments.get("seconds", 0) * 20 if tool == "sleep" else 4):
            sleep(0.05)
            self.check(turn)
            if call_id in self.cancelled:
                return True
        return False

    def permit(self, turn: Any, call_id: str, name: str, kind: str, arguments: Any) -> str:
        risk = "high" if kind == "effect" else "low"
        request = {
            "turn_id": turn["turn_id"], "call_id": call_id, "tool": name, "risk": risk,
            "details": arguments,
        }  # fmt: skip
        automatic = None
        if self.level == "allow_all" or (self.level != "ask_for_all" and risk == "low"):
            automatic = ("allow_once", {"decided_by_policy": self.level})
        elif self.level == "read_only":
            automatic = ("reject_once", {"decided_by_policy": self.level})
        elif self.level == "ask_for_risky" and name in self.remembered:
            automatic = ("allow_once", {"decided_by_rule": name})
        return self.ask(turn, "permission", request, automatic)

    def ask(self, turn: Any, kind: str, request: dict[str, Any], automatic: Any = None) -> str:
        request_id = str(uuid.uuid4())
        payload = {"request_id": request_id, **request, "expires_at": now(PERMISSION_MS)}
        self.emit(f"{kind}.requested", payload)
        if automatic:
            outcome, by = automatic
            self.emit("permission.resolved", {"request_id": request_id, "outcome": outcome, **by})
            return outcome
        with self.lock:
            while request_id in self.pending:
                self.changed.wait(0.05)
                self.check(turn)
        return self.answers[request_id].get("outcome", "")

    # -- what a socket says --------------------------------------------------------------------

    def hear(self, socket: Any, device: str, type_: str, payload: dict[str, Any]) -> None:
        with self.lock:
            match type_:
                case "prompt.send":
                    self.prompt(socket, device, payload)
                case "prompt.cancel":
                    self.cancel_prompt(payload["client_message_id"])
                case "turn.cancel" | "tool_call.cancel":
                    self.cancelled.add(payload.get("turn_id") or payload["call_id"])
                case "permission.respond" | "choice.respond":
                    self.respond(socket, device, type_, payload)
                case "request.extend":
                    expires = now(PERMISSION_MS)
                    self.emit(
                        "request.extended", {**payload, "expires_at": expires, "device_id": device}
                    )
                case "permission.forget":
                    self.emit("permission.forgotten", {**payload, "device_id": device})
                case "policy.set":
                    self.emit("policy.updated", {**payload, "device_id": device})

    def prompt(self, socket: Any, device: str, payload: dict[str, Any]) -> None:
        message_id = payload["client_message_id"]
        if message_id in self.known:
            return self.tell(socket, self.known[message_id])
        if len(self.queue) >= LIMITS["queue_limit"]:
            fault = {"client_message_id": message_id, "reason": "queue_full"}
            return self.tell(socket, {"type": "prompt.rejected", "at": now(), "payload": fault})
        accepted = {
            "client_message_id": message_id, "turn_id": str(uuid.uuid4()), "text": payload["text"],
            "route": payload.get("route"), "origin": "deck", "device_id": device,
        }  # fmt: skip
        self.emit("prompt.accepted", accepted)
        return None

    def cancel_prompt(self, message_id: str) -> None:
        for prompt in self.queue:
            if prompt["client_message_id"] == message_id:
                ids = {"client_message_id": message_id, "turn_id": prompt["turn_id"]}
                return self.emit("prompt.cancelled", {**ids, "reason": "by_person"})
        return None

    def respond(self, socket: Any, device: str, type_: str, payload: dict[str, Any]) -> None:
        request_id = payload["request_id"]
        if request_id not in self.pending:
            for event in self.events:
                if (
                    event["type"].endswith(".resolved")
                    and event["payload"]["request_id"] == request_id
                ):
                    self.tell(socket, event)
            return
        resolved = {"request_id": request_id, "decided_by_device": device}
        if type_ == "choice.respond":
            resolved["option"] = payload["option"]
        else:
            resolved["outcome"] = payload["answer"]
            if payload["answer"] == "allow_always":
                resolved["remember"] = self.pending[request_id]["tool"]
        self.answers[request_id] = resolved
        self.emit(type_.replace("respond", "resolved"), resolved)

    def row(self) -> dict[str, Any]:
        return {
            "session_id": self.id,
            "title": self.title,
            "updated_at": self.events[-1]["at"] if self.events else now(),
            "running": not self.stopped,
            "turn_running": self.turn is not None,
            "queued": len(self.queue),
            "pending": len(self.pending),
        }


class Server:
    """All conversations of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conversations = {
            path.stem: Conversation(path.stem, folder) for path in sorted(folder.glob("*.jsonl"))
        }
        self.tickets: dict[str, str] = {}
        self.used: set[str] = set()
        self.tokens = {TOKEN}
        threading.Thread(target=self.beat, daemon=True).start()

    def beat(self) -> None:
        while True:
            sleep(LIMITS["heartbeat_ms"] / 1000)
            for conversation in list(self.conversations.values()):
                with conversation.lock:  # two frames at once would mix
                    for socket in list(conversation.sockets):
                        conversation.tell(socket, {"type": "heartbeat", "at": now(), "payload": {}})

    def ticket(self, id_: str | None) -> Any:
        if id_ is None:
            id_ = str(uuid.uuid4())
        elif id_ not in self.conversations:
            return jsonify(error="not_found"), 404
        ticket = uuid.uuid4().hex
        self.tickets[ticket] = id_
        return jsonify(ticket=ticket, session_id=id_, expires_in_ms=10_000)

    def serve(self, socket: Any, ticket: str) -> None:
        id_ = self.tickets.pop(ticket, None)
        if id_ is None:
            return socket.close(4401)
        conversation = self.conversations.get(id_)
        if conversation is None:
            conversation = self.conversations[id_] = Conversation(id_, self.folder)
        resume = json.loads(socket.receive(timeout=10))["payload"]
        with conversation.lock:
            payload, after = conversation.snapshot(resume)
            conversation.tell(socket, {"type": "session.snapshot", "at": now(), "payload": payload})
            for event in conversation.events[after:]:
                conversation.tell(socket, event)
            conversation.sockets.add(socket)
        try:
            while True:
                frame = json.loads(socket.receive())
                conversation.hear(socket, resume["device_id"], frame["type"], frame["payload"])
        finally:
            conversation.sockets.discard(socket)

    def remove(self, id_: str, code: int) -> None:
        conversation = self.conversations.pop(id_)
        conversation.stopped = True
        for socket in list(conversation.sockets):
            socket.close(code)
        if code == 4404:
            conversation.path.unlink(missing_ok=True)

    def usage(self) -> dict[str, Any]:
        turns = [
            event
            for conversation in self.conversations.values()
            for event in conversation.events
            if event["type"] in ("turn.completed", "turn.failed")
        ]
        row = {
            "turns": len(turns), "failed": sum(one["type"] == "turn.failed" for one in turns),
            "input_tokens": 41 * len(turns), "output_tokens": 212 * len(turns), "tool_calls": 0,
            "cache_read_tokens": 0, "cache_write_tokens": 0, "duration_ms": 0,
        }  # fmt: skip
        latest = {"at": now(), "route": "local", "status": "ok", "duration_ms": 240.0, **row}
        names = {"provider": "scripted", "model": "llama3.2:3b", "session_id": None}
        days = [
            {
                "day": now(-86_400_000 * back)[:10],
                **row,
                "turns": 3 + back * 7 % 11,
                "failed": back % 3,
            }
            for back in range(20, 0, -1)
        ]
        return {
            "totals": {**row, "dropped": 0},
            "routes": [{"route": "local", **row, **names}],
            "days": [*days, {"day": now()[:10], **row}],
            "recent": [{**latest, **names} for _ in turns[-5:]],
        }


def history_of(conversation: Conversation) -> Iterator[dict[str, Any]]:
    for event in conversation.events:
        if event["type"] == "prompt.accepted":
            yield {"id": event["payload"]["turn_id"], "input": event["payload"]["text"]}


def application(server: Server) -> Flask:
    app = Flask("stand_in", static_folder=None)
    app.config["SOCK_SERVER_OPTIONS"] = {"subprotocols": ["mead.deck.v1"]}
    add_page(app, server)
    add_deck(app, server)
    add_sessions(app, server)
    return app


def add_page(app: Flask, server: Server) -> None:
    page = StaticPage(ROOT / "blueprints" / "static" / "deck")

    @app.before_request
    def check() -> Any:
        route = request.path.removeprefix("/deck/")
        if route in ("socket", "login") or route in page.paths or route == "":
            return None
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return None if token in server.tokens else ("", 401)

    @app.get("/deck/")
    @app.get("/deck/<path:path>")
    def files(path: str = "") -> Response:
        return page.answer(path)


def add_deck(app: Flask, server: Server) -> None:
    sock = Sock(app)

    @app.post("/deck/login")
    def login() -> Any:
        code = (request.get_json() or {}).get("code")
        if not code.startswith(CODE) or code in server.used:
            return jsonify(error="unauthorized"), 401
        server.used.add(code)
        token = uuid.uuid4().hex
        server.tokens.add(token)
        return jsonify(token=token)

    @app.post("/deck/ticket")
    def ticket() -> Any:
        return server.ticket((request.get_json(silent=True) or {}).get("session_id"))

    @app.get("/deck/info")
    def info() -> Any:
        levels = ["ask_for_all", "ask_for_risky", "allow_all", "read_only"]
        told = {"version": "0.1.0", "slots": SLOTS, "default_route": "auto", "limits": LIMITS}
        return jsonify(**told, policy_levels=levels, default_policy_level="ask_for_risky")

    @app.get("/deck/usage")
    def usage() -> Any:
        return jsonify(server.usage())

    @sock.route("/deck/socket")
    def socket(ws: Any) -> None:
        offered = request.headers.get("Sec-WebSocket-Protocol", "")
        ticket = next(p.strip()[7:] for p in offered.split(",") if p.strip().startswith("ticket."))
        server.serve(ws, ticket)


def add_sessions(app: Flask, server: Server) -> None:
    @app.get("/deck/sessions")
    def sessions() -> Any:
        return jsonify(sessions=[one.row() for one in server.conversations.values()])

    @app.patch("/deck/sessions/<id_>")
    def rename(id_: str) -> Any:
        server.conversations[id_].emit("session.titled", {"title": request.json["title"]})
        return "", 204

    @app.delete("/deck/sessions/<id_>")
    def remove(id_: str) -> Any:
        server.remove(id_, 4404)
        return "", 204

    @app.post("/deck/sessions/<id_>/stop")
    def stop(id_: str) -> Any:
        server.remove(id_, 4409)
        server.conversations[id_] = Conversation(id_, server.folder)
        return "", 204

    @app.get("/deck/sessions/<id_>/history")
    def history(id_: str) -> Any:
        return jsonify(turns=[])  # its logs are whole

    @app.get("/deck/sessions/<id_>/export")
    def export(id_: str) -> Any:
        rows = (json.dumps(row) for row in history_of(server.conversations[id_]))
        return Response("\n".join(rows), content_type="application/x-ndjson")


def main() -> None:
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    listener = make_server("127.0.0.1", port, application(Server(folder)), threaded=True)
    sys.stdout.write("Mead is ready\n")
    sys.stdout.flush()
    listener.serve_forever()


if __name__ == "__main__":
    main()
