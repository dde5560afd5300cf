"""`flask mead ask` and `flask mead chat`."""

import contextlib
import os
import sys
from typing import Literal

import click

from mead.actors.green import interrupted_here
from mead.cli.deck_chat import TOKEN_VARIABLE, chat_at, token_for
from mead.cli.endings import cut_words
from mead.cli.output import harmless, json_option, print_json, tell
from mead.cli.runtime import Runtime, connected
from mead.cli.session_ids import whole_id
from mead.cli.terminal import TerminalInteraction, greet, read_line
from mead.deck.naming import default_title
from mead.errors import (
    AlreadyRunning,
    Busy,
    InvalidInput,
    MeadError,
    SessionNotFound,
    TurnError,
)
from mead.protocols import TurnReceipt

route_option = click.option(
    "--route",
    type=click.Choice(["auto", "local", "cloud"]),
    help="Where the words go; without it runtime.default_route decides.",
)


@click.command()
@click.argument("text")
@route_option
@json_option
def ask(text: str, route: str | None, as_json: bool) -> None:
    """Ask one question and print the answer.

    The conversation it makes is deleted afterwards.
    """
    with connected() as runtime:
        session_id = runtime.start_session()
        try:
            person = None if as_json else TerminalInteraction(asks=False)
            with interrupted_here():
                receipt = runtime.submit(session_id, text, route=route, interaction=person)
        finally:
            with contextlib.suppress(MeadError):
                runtime.delete_session(session_id)
    if as_json:
        print_json({"output": receipt.output, "turn": receipt.turn.encode()})
    else:
        _finish(receipt, person)


@click.command()
@click.argument("session", required=False)
@route_option
@click.option(
    "--allow-effects",
    is_flag=True,
    help="Also show the model tools that change things; each call is asked for here.",
)
@click.option(
    "--url",
    help="Talk to the deck of that server, on any machine: its address, or a link of `deck link`."
    f"  Without a link the token is asked for, or taken from {TOKEN_VARIABLE}."
    "  The server's policy decides what is asked for.",
)
def chat(session: str | None, route: str | None, allow_effects: bool, url: str | None) -> None:
    """Talk, in a new conversation or in SESSION.

    Ctrl-C cancels the running turn; Ctrl-C or Ctrl-D at the prompt leaves.  The conversation stays
    if storage is on.
    """
    if url is not None:
        base, token = token_for(url, os.environ.get(TOKEN_VARIABLE))
        chat_at(base, token, session, route)
        return
    with connected() as runtime:
        session_id = _opened(runtime, session)
        greet(session_id)
        tools: Literal["effect"] | None = "effect" if allow_effects else None
        person = TerminalInteraction(asks=sys.stdin is not None and sys.stdin.isatty())
        is_named = session is not None
        while (text := _next_prompt()) is not None:
            if text.strip():
                _turn(runtime, session_id, text, route, tools, person)
                is_named = is_named or _name(runtime, session_id, text)
    click.echo()


def _opened(runtime: Runtime, session: str | None) -> str:
    if session is None:
        return runtime.start_session()
    session_id = whole_id(runtime, session)
    try:
        return runtime.resume_session(session_id)
    except AlreadyRunning:
        return session_id
    except SessionNotFound:
        runtime.history(session_id)  # running without storage: known, though not to resume
        return session_id


def _name(runtime: Runtime, session_id: str, text: str) -> bool:
    """Have the list of conversations show what the first prompt was."""
    with contextlib.suppress(MeadError):  # a convenience: nobody waits for it
        runtime.set_title(session_id, default_title(text))
    return True


def _next_prompt() -> str | None:
    try:
        return read_line("> ")
    except KeyboardInterrupt:
        return None


def _turn(
    runtime: Runtime,
    session_id: str,
    text: str,
    route: str | None,
    tools: str | None,
    person: TerminalInteraction,
) -> None:
    person.streamed = False
    try:
        with interrupted_here():
            receipt = runtime.submit(session_id, text, route=route, tools=tools, interaction=person)
    except KeyboardInterrupt:
        with contextlib.suppress(MeadError):
            runtime.cancel_turn(session_id)
        click.secho("\n[cancelled]", err=True)
    except TurnError as error:
        tell(f"\n{error.turn_code}: {error.message}", err=True)
    except (InvalidInput, Busy) as error:
        tell(f"{error.code}: {error.message}", err=True)
    else:
        _finish(receipt, person)


def _finish(receipt: TurnReceipt, person: TerminalInteraction | None) -> None:
    streamed = person is not None and person.streamed
    click.echo("" if streamed else harmless(receipt.output))
    for warning in receipt.turn.facts.warnings:
        tell(f"warning: {warning}", err=True)
    if words := cut_words(receipt.turn.facts.stop_reason):
        tell(words, err=True)
