"""The person at a terminal: sees the answer grow, and is asked what may run."""

import json
import select
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from mead.actors.green import in_thread
from mead.cli.output import harmless, harmless_line, harmless_lines, tell
from mead.deck.frames import PermissionAnswer
from mead.protocols import CallStatus, ToolUse
from mead.turn import TurnFacts

_ANSWERS: Final[Mapping[str, PermissionAnswer]] = {
    "y": "allow_once",
    "yes": "allow_once",
    "a": "allow_always",
    "always": "allow_always",
}

_SHOWN_CHARACTERS: Final = 2000
"""Of the arguments of a tool call."""


def greet(session_id: str) -> None:
    """What a talk begins with: which conversation, and how to end an answer and the talk."""
    tell(f"conversation {session_id}", dim=True, err=True)
    click.secho("Ctrl-C cancels an answer, Ctrl-D leaves", dim=True, err=True)


def read_line(prompt: str) -> str | None:
    """A line from standard input, or None at its end; other greenlets go on meanwhile.

    A terminal gives one line at a time, so `select` (which gevent makes cooperative) says when
    there is one.  A pipe may hold several lines, which Python reads ahead: a thread waits there.
    """
    if sys.stdin is None:  # closed by whoever started this
        return None
    click.echo(prompt, nl=False)
    sys.stdout.flush()
    if sys.stdin.isatty():
        select.select([sys.stdin], [], [])
        line = sys.stdin.readline()
    else:
        line = in_thread(sys.stdin.readline)
    return line.rstrip("\n") if line else None


class TerminalInteraction:
    """An Interaction on standard input and output.

    Read tools run without a question, effect tools are asked for (`ask_for_risky`); with
    `asks` False (no one is there to answer) effect tools are refused.
    """

    def __init__(self, *, asks: bool) -> None:
        self._asks = asks
        self._always: set[str] = set()
        self.streamed = False

    def routed(self, facts: TurnFacts) -> None:
        """Say where the words go, apart from the answer itself."""
        where = " ".join(part for part in (facts.model, facts.host and f"on {facts.host}") if part)
        tell(f"[{facts.route}] {where}", dim=True, err=True)

    def text_delta(self, text: str) -> None:
        """See Interaction."""
        self.streamed = True
        click.echo(harmless(text), nl=False)
        sys.stdout.flush()

    def authorize(self, use: ToolUse, cancel: Callable[[], None]) -> bool:
        """See Interaction."""
        del cancel
        tell(f"\n[tool] {use.server}.{use.tool} ({use.kind})", dim=True, err=True)
        if use.kind == "read" or use.name in self._always:
            return True
        answer = self.permit(use.name, use.arguments)
        if answer == "allow_always":
            self._always.add(use.name)
        return answer != "reject_once"

    def permit(self, name: str, arguments: Mapping[str, Any]) -> PermissionAnswer:
        """What the person says to a tool call; a no where nobody is there to answer."""
        if not self._asks:
            return "reject_once"
        click.echo(_shown(arguments))
        question = f"Let {harmless_line(name)} run? [y]es, [a]lways, [N]o: "
        answer = (read_line(question) or "").strip().lower()
        return _ANSWERS.get(answer, "reject_once")

    def call_finished(self, call_id: str, status: CallStatus, summary: str) -> None:
        """See Interaction."""
        del call_id, summary
        tell(f"[tool] {status}", dim=True, err=True)

    def choose(self, prompt: str, options: tuple[str, ...]) -> str | None:
        """See Interaction."""
        if not self._asks:
            return None
        click.echo(f"\n{harmless(prompt)}")
        for number, option in enumerate(options, 1):
            click.echo(f"  {number}. {harmless_line(option)}")
        answer = read_line(f"1 to {len(options)}, anything else to skip: ")
        if answer is None or not answer.strip().isdecimal():
            return None
        number = int(answer)
        return options[number - 1] if 1 <= number <= len(options) else None


def _shown(arguments: Mapping[str, Any]) -> str:
    """What a person decides about: nothing of it unseen, and said so where it is cut."""
    try:
        text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    except (RecursionError, TypeError, ValueError):
        return "(its arguments are nested too deeply to be shown)"
    left_out = len(text) - _SHOWN_CHARACTERS
    cut = f"\n... and {left_out} more characters" if left_out > 0 else ""
    return harmless_lines(text[:_SHOWN_CHARACTERS]) + cut
