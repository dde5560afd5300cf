"""`flask mead sessions ...`."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from mead.cli.endings import cut_words
from mead.cli.output import harmless, harmless_line, json_option, print_json, print_table, tell
from mead.cli.runtime import Runtime, connected
from mead.cli.session_ids import whole_id
from mead.control.client import ControlClient
from mead.errors import SessionNotFound
from mead.export import ExportFormat
from mead.turn import Turn, iso_ms

_TITLE_CHARACTERS: Final = 60
"""What of a title stands in the table."""


@click.group()
def sessions() -> None:
    """Look after stored conversations.

    SESSION is a conversation's id, or as much of its beginning (4 characters or more) as no other's
    has.
    """


@contextmanager
def _connected_to(session: str) -> Generator[tuple[Runtime, str]]:
    """The runtime to call, and the whole id of the conversation."""
    with connected() as runtime:
        yield runtime, whole_id(runtime, session)


@sessions.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the stored conversations, newest first."""
    with connected() as runtime:
        entries = runtime.list_sessions()
    if as_json:
        print_json([{**asdict(entry), "updated_at": iso_ms(entry.updated_at)} for entry in entries])
    else:
        print_table(
            ("session", "updated", "state", "title"),
            [
                (
                    each.session_id,
                    iso_ms(each.updated_at),
                    "running" if each.running else "stopped",
                    _short(each.title),
                )
                for each in entries
            ],
        )


def _short(title: str | None) -> str | None:
    if title is None:
        return None
    cut = title if len(title) <= _TITLE_CHARACTERS else title[: _TITLE_CHARACTERS - 1] + "…"
    return harmless_line(cut)


@sessions.command()
@click.argument("session")
@json_option
def show(session: str, as_json: bool) -> None:
    """Show what a conversation holds and what it spent, without its text."""
    with _connected_to(session) as (runtime, session_id):
        turns = runtime.history(session_id)
        found = next((e for e in runtime.list_sessions() if e.session_id == session_id), None)
        try:
            usage = runtime.session_usage(session_id)
        except SessionNotFound:  # it has spent nothing
            usage = {}
    title = None if found is None else found.title
    summary = {
        "session_id": session_id,
        "title": title,
        "running": found is not None and found.running,
        "turns": len(turns),
        "characters": sum(len(turn.input) + len(turn.output or "") for turn in turns),
        "started_at": iso_ms(turns[0].started_at) if turns else None,
        "last_turn_at": iso_ms(turns[-1].started_at) if turns else None,
        "last_status": turns[-1].status.value if turns else None,
        "last_stop_reason": turns[-1].facts.stop_reason if turns else None,
        "input_tokens": usage.get("input_tokens", 0),
        "output_tokens": usage.get("output_tokens", 0),
    }
    if as_json:
        print_json(summary)
    else:
        shown = {**summary, "title": _short(title)}
        print_table(("what", "value"), list(shown.items()))
        if words := cut_words(turns[-1].facts.stop_reason if turns else None):
            tell(words)


@sessions.command()
@click.argument("session")
@click.option("--limit", type=click.IntRange(1), help="Only the newest N turns.")
@json_option
def history(session: str, limit: int | None, as_json: bool) -> None:
    """Print the turns of a conversation."""
    with _connected_to(session) as (runtime, session_id):
        turns = runtime.history(session_id)
    turns = turns[-limit:] if limit else turns
    if as_json:
        print_json([turn.encode() for turn in turns])
        return
    for turn in turns:
        _print_turn(turn)


def _print_turn(turn: Turn) -> None:
    click.secho(f"{iso_ms(turn.started_at)} you", bold=True)
    tell(turn.input)
    facts = turn.facts
    where = ", ".join(part for part in (facts.route, facts.model, facts.host) if part)
    tell(f"mead{f' ({where})' if where else ''}: {turn.status.value}", bold=True)
    error = turn.error
    tell(f"{error.code}: {error.message}" if error else turn.output or "")
    if not error and (words := cut_words(facts.stop_reason)):
        tell(words)
    click.echo()


@sessions.command()
@click.argument("session")
def resume(session: str) -> None:
    """Start a stored conversation again in the running Mead."""
    with _connected_to(session) as (runtime, session_id):
        if not isinstance(runtime, ControlClient):
            raise click.ClickException(
                "no Mead runs here; start it (make run), or use chat SESSION"
            )
        click.echo(runtime.resume_session(session_id))


@sessions.command()
@click.argument("session")
def stop(session: str) -> None:
    """Stop a conversation; it stays stored."""
    with _connected_to(session) as (runtime, session_id):
        try:
            runtime.stop_session(session_id)
        except SessionNotFound:
            if all(entry.session_id != session_id for entry in runtime.list_sessions()):
                raise
            raise SessionNotFound(
                "it does not run: it is stored, and stopped; `flask mead sessions resume` starts it"
                " again, `flask mead sessions delete` removes it"
            ) from None


@sessions.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(session: str, yes: bool) -> None:
    """Delete a conversation, its files and what it spent."""
    with _connected_to(session) as (_, session_id):
        pass  # the directory is free while the person thinks
    if not yes:
        click.confirm(f"Delete {session_id} for good?", abort=True)
    with connected() as runtime:
        runtime.delete_session(session_id)


@sessions.command()
@click.argument("session")
@json_option
def compact(session: str, as_json: bool) -> None:
    """Rewrite a stored conversation as one record a turn."""
    with _connected_to(session) as (runtime, session_id):
        before, after = runtime.compact_session(session_id)
    if as_json:
        print_json({"bytes_before": before, "bytes_after": after})
    else:
        click.echo(f"{before} bytes before, {after} bytes after")


@sessions.command()
@click.argument("session")
@json_option
def repair(session: str, as_json: bool) -> None:
    """Rescue the turns before the damage of a corrupt conversation.

    The damaged file is kept beside the repaired one.
    """
    with _connected_to(session) as (runtime, session_id):
        report = runtime.repair_session(session_id)
    if as_json:
        print_json(asdict(report))
    else:
        print_table(("what", "value"), list(asdict(report).items()))


@sessions.command()
@click.argument("session")
@click.option("--format", "format_", type=click.Choice(["jsonl", "markdown"]), default="jsonl")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A new file, 0600.")
def export(session: str, format_: ExportFormat, output: Path | None) -> None:
    """Export a conversation as JSON Lines or Markdown."""
    with _connected_to(session) as (runtime, session_id):
        text = runtime.export_session(session_id, format_)
    if output is None:
        click.echo(harmless(text) if sys.stdout.isatty() else text, nl=False)
        return
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from None
    with os.fdopen(handle, "w") as file:
        file.write(text)
