"""`flask mead chat --url`: the terminal as one more device of a deck, on any machine."""

import ipaddress
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click
import requests

from mead.cli.endings import cut_words
from mead.cli.output import harmless, harmless_line, tell
from mead.cli.terminal import TerminalInteraction, greet, read_line
from mead.deck.client import DeckClient
from mead.deck.client_errors import DeckClosed, DeckMisspoke, DeckRefused
from mead.deck.client_http import post
from mead.deck.client_messages import Message
from mead.deck.closing import ENDINGS, LOST
from mead.turn import TurnFacts

Answer = TypeVar("Answer")

TOKEN_VARIABLE: Final = "MEAD_CHAT_TOKEN"  # noqa: S105 - its name
CODE_MARK: Final = "#code="
_TOKEN: Final = re.compile(r"[!-~]{1,200}")
POLL_S: Final = 0.2
"""How soon a Ctrl-C is noticed."""
SILENCE_S: Final = 45.0
"""Three heartbeats: a connection that says nothing for so long is a dead one."""


def token_for(url: str, given: str | None) -> tuple[str, str]:
    """The server's address and a token: that of the link's code, the given one, or a typed one.

    Raises ClickException.  Blocks on: the server, the person.
    """
    address, _, code = url.partition(CODE_MARK)
    base = address.rstrip("/").removesuffix("/deck")
    if not base.startswith(("http://", "https://")):
        raise click.UsageError("--url must begin with http:// or https://")
    if base.startswith("http://") and not _is_here(base):
        click.secho("warning: without https:// anyone on the way can read this", err=True)
    if code:
        return base, _login(base, code)
    return base, given or click.prompt("deck token", hide_input=True, err=True)


def _login(base: str, code: str) -> str:
    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = post(session, f"{base}/deck/login", {"code": code})
        except OSError:
            raise click.ClickException(f"{base} does not answer") from None
    if answer.status != requests.codes.ok:
        raise click.ClickException("that link was used already or is too old; ask for another")
    token: object = (answer.shape or {}).get("token")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise click.ClickException(f"what {base} answered is none of a Mead")
    return token


def _is_here(base: str) -> bool:
    """Whether the server is on this machine."""
    name = urlsplit(base).hostname or ""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def chat_at(base: str, token: str, session: str | None, route: str | None) -> None:
    """Talk until the person leaves.  Raises ClickException.  Blocks on: server, person."""
    try:
        with DeckClient(base, token, session_id=session, device_id="terminal") as deck:
            greet(str(deck.session_id))
            DeckChat(deck, route).run()
    except DeckClosed as closed:
        if closed.code not in ENDINGS:
            raise click.ClickException(_words(base, closed)) from None
        click.secho("the conversation is gone", err=True)
    except (DeckRefused, DeckMisspoke) as error:
        raise click.ClickException(harmless_line(str(error))) from None
    except OSError:
        raise click.ClickException(f"{base} does not answer") from None
    except _Left:
        click.secho("left without a connection; the server goes on", err=True)


def _words(base: str, closed: DeckClosed) -> str:
    return f"{base} does not answer" if closed.code == LOST else harmless_line(str(closed))


class _Left(Exception):
    """A Ctrl-C while there is no connection."""


class DeckChat:
    """One conversation at the terminal: what was said before is shown, then it goes on."""

    def __init__(self, deck: DeckClient, route: str | None) -> None:
        self._deck = deck
        self._route = route
        self._person = TerminalInteraction(asks=sys.stdin is not None and sys.stdin.isatty())
        self._level = ""
        self._remembered: set[str] = set()
        self._own: str | None = None
        """The turn that was asked for here."""
        self._is_interrupted = False
        self._shown: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "turn.routed": self._routed,
            "text.delta": self._text,
            "turn.completed": self._completed,
            "turn.failed": self._failed,
            "tool_call.started": self._call,
            "tool_call.finished": self._call_finished,
            "permission.requested": self._permission,
            "choice.requested": self._choice,
        }
        self._read_snapshot()

    def run(self) -> None:
        """Until the person leaves.  Raises DeckClosed when the conversation is gone, and _Left."""
        self._catch_up()
        while (text := self._next_prompt()) is not None:
            if text.strip():
                self._turn(text)
        click.echo()

    def _next_prompt(self) -> str | None:
        try:
            return read_line("> ")
        except KeyboardInterrupt:
            return None

    def _catch_up(self) -> None:
        """Show the conversation so far."""
        while self._deck.last_sequence < self._deck.snapshot["last_sequence"]:
            message = self._next()
            payload = message["payload"]
            if message["type"] == "prompt.accepted":
                tell(f"\n> {payload['text']}", dim=True)
            elif message["type"] == "text.delta":
                click.echo(harmless(payload["text"]), nl=False)
            else:
                self._note(message["type"], payload)
        click.echo()

    # -- one turn ----------------------------------------------------------------------------------

    def _turn(self, text: str) -> None:
        """Send a prompt and show its turn."""
        message_id = self._deck.send_prompt(text, route=self._route)
        self._own, self._is_interrupted = None, False
        # A KeyboardInterrupt could strike anywhere, in the connection's own reader too.
        previous = signal.signal(signal.SIGINT, self._interrupt)
        try:
            while not self._show(self._next(message_id), message_id):
                pass
        finally:
            signal.signal(signal.SIGINT, previous)

    def _interrupt(self, *_: object) -> None:
        self._is_interrupted = True

    def _next(self, message_id: str = "") -> Message:
        """The next message, or the snapshot of the next connection.  A Ctrl-C cancels meanwhile."""
        silent_at = time.monotonic() + SILENCE_S
        while time.monotonic() < silent_at:
            if self._is_interrupted:
                self._is_interrupted = False
                self._cancel(message_id)
            try:
                return self._deck.receive(POLL_S)
            except TimeoutError:
                continue
            except DeckClosed as closed:
                return self._rejoined(closed)
        return self._rejoined(None)

    def _rejoined(self, after: DeckClosed | None) -> Message:
        tell("\n[the connection is lost]", dim=True, err=True)
        snapshot = self._deck.rejoin(after, self._pause)
        self._read_snapshot()
        return snapshot

    def _pause(self, seconds: float) -> None:
        """Between two attempts.  Raises _Left."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._is_interrupted:
                raise _Left
            time.sleep(min(left, POLL_S))

    def _answer(self, type_: str, **payload: Any) -> None:
        """Tell what the person said; the connection may have been lost meanwhile."""
        while True:
            try:
                self._deck.say(type_, **payload)
                return
            except DeckClosed as closed:
                self._rejoined(closed)

    def _cancel(self, message_id: str) -> None:
        with suppress(DeckClosed):  # Ctrl-C once more, when it is back
            if self._own is None:
                self._deck.say("prompt.cancel", client_message_id=message_id)
            else:
                self._deck.say("turn.cancel", turn_id=self._own)

    def _show(self, message: Message, message_id: str) -> bool:
        """Whether that was the last of the person's turn."""
        type_, payload = message["type"], message["payload"]
        if payload.get("client_message_id") == message_id:
            if type_ in ("prompt.rejected", "prompt.cancelled"):
                tell(f"{payload['reason']}", err=True)
                return True
            if type_ == "prompt.accepted":
                self._own = payload["turn_id"]
        self._note(type_, payload)
        if self._own is None or payload.get("turn_id") != self._own:
            return False
        show = self._shown.get(type_)
        if show is not None:
            show(payload)
        if type_ == "metric.updated" and payload["name"] == "tokens_out":
            click.echo()
            return True
        return False

    def _note(self, type_: str, payload: Mapping[str, Any]) -> None:
        """What the answers to later requests depend on."""
        if type_ == "policy.updated":
            self._level = payload["level"]
        elif type_ == "permission.resolved" and "remember" in payload:
            self._remembered.add(payload["remember"])
        elif type_ == "permission.forgotten":
            self._remembered.discard(payload["tool"])

    def _read_snapshot(self) -> None:
        self._level = self._deck.snapshot["policy_level"]
        self._remembered = set(self._deck.snapshot["remembered_tools"])

    # -- what is shown of it -----------------------------------------------------------------------

    def _routed(self, payload: Mapping[str, Any]) -> None:
        facts = {name: payload[name] for name in ("route", "model", "host")}
        self._person.routed(TurnFacts(**facts))

    def _text(self, payload: Mapping[str, Any]) -> None:
        self._person.text_delta(payload["text"])

    def _completed(self, payload: Mapping[str, Any]) -> None:
        if words := cut_words(payload["stop_reason"]):
            tell(f"\n{words}", err=True)

    def _failed(self, payload: Mapping[str, Any]) -> None:
        tell(f"\n{payload['reason']}: {payload['message']}", err=True)

    def _call(self, payload: Mapping[str, Any]) -> None:
        name, kind = f"{payload['server']}.{payload['tool']}", payload["class"]
        tell(f"\n[tool] {name} ({kind})", dim=True, err=True)

    def _call_finished(self, payload: Mapping[str, Any]) -> None:
        tell(f"[tool] {payload['status']}", dim=True, err=True)

    def _permission(self, payload: Mapping[str, Any]) -> None:
        if self._is_decided(payload):
            return
        answer = self._asked(lambda: self._person.permit(payload["tool"], payload["details"]))
        if answer is None:
            return
        self._answer("permission.respond", request_id=payload["request_id"], answer=answer)

    def _is_decided(self, payload: Mapping[str, Any]) -> bool:
        """Whether the server answers by itself, by the level or by a rule."""
        if self._level == "ask_for_all":
            return False
        is_low = payload["risk"] == "low"
        return self._level != "ask_for_risky" or is_low or payload["tool"] in self._remembered

    def _choice(self, payload: Mapping[str, Any]) -> None:
        options = tuple(payload["options"])
        option = self._asked(lambda: self._person.choose(payload["prompt"], options))
        if option is None:
            click.secho("[skipped: the question ends by itself, or Ctrl-C]", dim=True, err=True)
        else:
            self._answer("choice.respond", request_id=payload["request_id"], option=option)

    def _asked(self, question: Callable[[], Answer | None]) -> Answer | None:
        """What the person says; None after a Ctrl-C, which cancels the turn."""
        ours = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return question()
        except KeyboardInterrupt:
            self._is_interrupted = True
            return None
        finally:
            signal.signal(signal.SIGINT, ours)
