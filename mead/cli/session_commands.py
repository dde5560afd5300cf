"""`flask mead sessions ...`."""

import os
from dataclasses import asdict
from pathlib import Path

import click

from mead.cli.output import harmless, json_option, print_json, print_table
from mead.cli.runtime import connected
from mead.control.client import ControlClient
from mead.errors import SessionNotFound
from mead.export import ExportFormat
from mead.turn import Turn, iso_ms


@click.group()
def sessions() -> None:
    """Look after stored conversations."""


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
            ("session", "updated", "state"),
            [
                (each.session_id, iso_ms(each.updated_at), "running" if each.running else "stopped")
                for each in entries
            ],
        )


@sessions.command()
@click.argument("session")
@json_option
def show(session: str, as_json: bool) -> None:
    """Show what a conversation holds and what it spent, without its text."""
    with connected() as runtime:
        turns = runtime.history(session)
        running = any(e.session_id == session and e.running for e in runtime.list_sessions())
        try:
            usage = runtime.session_usage(session)
        except SessionNotFound:  # it has spent nothing
            usage = {}
    summary = {
        "session_id": session,
        "running": running,
        "turns": len(turns),
        "characters": sum(len(turn.input) + len(turn.output or "") for turn in turns),
        "started_at": iso_ms(turns[0].started_at) if turns else None,
        "last_turn_at": iso_ms(turns[-1].started_at) if turns else None,
        "last_status": turns[-1].status.value if turns else None,
        "input_tokens": usage.get("input_tokens", 0),
        "output_tokens": usage.get("output_tokens", 0),
    }
    if as_json:
        print_json(summary)
    else:
        print_table(("what", "value"), list(summary.items()))


@sessions.command()
@click.argument("session")
@click.option("--limit", type=click.IntRange(1), help="Only the newest N turns.")
@json_option
def history(session: str, limit: int | None, as_json: bool) -> None:
    """Print the turns of a conversation."""
    with connected() as runtime:
        turns = runtime.history(session)
    turns = turns[-limit:] if limit else turns
    if as_json:
        print_json([turn.encode() for turn in turns])
        return
    for turn in turns:
        _print_turn(turn)


def _print_turn(turn: Turn) -> None:
    click.secho(f"{iso_ms(turn.started_at)} you", bold=True)
    click.echo(harmless(turn.input))
    facts = turn.facts
    where = ", ".join(part for part in (facts.route, facts.model, facts.host) if part)
    click.secho(f"mead{f' ({where})' if where else ''}: {turn.status.value}", bold=True)
    error = turn.error
    click.echo(f"{error.code}: {error.message}" if error else harmless(turn.output or ""))
    click.echo()


@sessions.command()
@click.argument("session")
def resume(session: str) -> None:
    """Start a stored conversation again in the running Mead."""
    with connected() as runtime:
        if not isinstance(runtime, ControlClient):
            raise click.ClickException(
                "no Mead runs here; start it (make run), or use chat SESSION"
            )
        click.echo(runtime.resume_session(session))


@sessions.command()
@click.argument("session")
def stop(session: str) -> None:
    """Stop a conversation; it stays stored."""
    with connected() as runtime:
        runtime.stop_session(session)


@sessions.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(session: str, yes: bool) -> None:
    """Delete a conversation, its files and what it spent."""
    if not yes:
        click.confirm(f"Delete {session} for good?", abort=True)
    with connected() as runtime:
        runtime.delete_session(session)


@sessions.command()
@click.argument("session")
@json_option
def compact(session: str, as_json: bool) -> None:
    """Rewrite a stored conversation as one record a turn."""
    with connected() as runtime:
        before, after = runtime.compact_session(session)
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
    with connected() as runtime:
        report = runtime.repair_session(session)
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
    with connected() as runtime:
        text = runtime.export_session(session, format_)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from None
    with os.fdopen(handle, "w") as file:
        file.write(text)
