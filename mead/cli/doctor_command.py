"""`flask mead doctor`: is everything in place, and if not, what to do."""

import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

import click
from flask import current_app

from mead.cli import links
from mead.cli.exposed_files import exposed_files
from mead.cli.mcp_commands import connected_to
from mead.cli.output import harmless_line, json_option, print_json
from mead.cli.runtime import settings_here
from mead.config import Settings
from mead.control.client import ControlClient
from mead.errors import MeadError
from mead.limits import files_needed, raise_file_limit
from mead.protocols import Listener
from mead.providers.diagnosis import diagnose
from mead.storage import lock

_TROUBLE_EXIT: Final = 1
_NO_TOOLS: Final = (
    "the bundled model cannot call tools, and mcp.servers grants some: its turns will fail"
    " (tools_unsupported); use another model, or grant none"
)
_HEROKU_ADVICE: Final = "this is a Heroku dyno: its disk is wiped at least once a day"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's report."""

    area: str
    ok: bool
    finding: str


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check storage, slots, tool servers, tokens and port; say what to do where it is needed.

    Ends with 1 if anything is not.
    """
    settings = settings_here()
    checks = list(_checks(settings))
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            mark = click.style("ok  ", fg="green") if check.ok else click.style("FIX ", fg="red")
            click.echo(f"{mark} {harmless_line(f'{check.area}: {check.finding}')}")
    if not all(check.ok for check in checks):
        sys.exit(_TROUBLE_EXIT)


def _checks(settings: Settings) -> Iterator[Check]:
    yield Check("settings", True, "no faults")
    running = _running(settings)
    yield from _storage(settings, running=running)
    yield from _slots(settings)
    yield from _servers(settings)
    yield from _tokens(settings)
    yield from _secrets(settings)
    yield _port(settings, running=running)
    trouble = raise_file_limit(settings)
    yield Check("open files", trouble is None, trouble or f"{files_needed(settings)} are allowed")


def _running(settings: Settings) -> bool:
    directory = settings.storage.directory
    return directory is not None and ControlClient.find(directory) is not None


def _storage(settings: Settings, *, running: bool) -> Iterator[Check]:
    directory = settings.storage.directory
    if directory is None:
        yield Check("storage", True, "off: conversations end with their process")
        return
    if "DYNO" in os.environ:
        yield Check("storage", False, _HEROKU_ADVICE)
    if running:
        yield Check("storage", True, f"{directory} is held by the Mead that runs here")
        return
    try:
        lock.acquire(directory).release()
    except MeadError as error:
        yield Check("storage", False, error.message)
    else:
        yield Check("storage", True, f"{directory} is writable and free")


def _slots(settings: Settings) -> Iterator[Check]:
    if not settings.router.slots:
        yield Check("slots", False, "none is filled: set router.slots.local or router.slots.cloud")
    for slot, chosen in settings.router.slots.items():
        bundled = chosen.provider == "embedded" and chosen.options.model_file is None
        if bundled and any(server.tools for server in settings.mcp.servers):
            yield Check(f"slot {slot}", False, _NO_TOOLS)
        for ok, finding in diagnose(slot, chosen):
            yield Check(f"slot {slot} ({chosen.provider})", ok, finding)


def _servers(settings: Settings) -> Iterator[Check]:
    if not settings.mcp.servers:
        return
    with connected_to(settings.mcp.servers) as hub:
        found = hub.status()
    for status in found:
        area = f"tool server {status.name}"
        if status.state != "ready":
            yield Check(area, False, status.fault or f"is {status.state}")
        elif status.missing:
            missing = ", ".join(status.missing)
            yield Check(area, False, f"does not offer what the settings list: {missing}")
        else:
            yield Check(area, True, f"offers its {len(status.granted)} granted tools")


def _tokens(settings: Settings) -> Iterator[Check]:
    faces = (("mcp_server.token", settings.mcp_server.token), ("deck.token", settings.deck.token))
    for key, token in faces:
        state = "set" if token is not None else "not set: that face is off (flask mead token)"
        yield Check(key, True, state)


def _secrets(settings: Settings) -> Iterator[Check]:
    for path in exposed_files(settings, current_app.extensions["mead.directory"]):
        finding = f"other accounts of this machine can read {path}: chmod 600 {path}"
        yield Check("secrets", False, finding)


def _port(settings: Settings, *, running: bool) -> Check:
    listener = links.running(settings) if running else None
    if listener is not None:
        return Check("port", True, _listens(listener, links.configured(settings)))
    address, port = settings.mcp_server.address, settings.mcp_server.port
    where = f"{address} port {port}"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if running:
                return Check(
                    "port", True, f"{where} is in use, by the Mead that runs here or another"
                )
            return Check("port", False, f"{where}: {error.strerror}; set mcp_server.port")
    return Check("port", True, f"{where} is free")


def _listens(listener: Listener, configured: Listener) -> str:
    """Where it is, and that it will be elsewhere when it is started with what is set here."""
    finding = f"Mead listens on {listener.url}"
    if listener.port != configured.port:
        finding += f"; the settings of this shell say port {configured.port}"
    return finding
