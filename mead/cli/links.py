"""Links that let a browser into the deck: an address with a single-use code in its fragment."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from mead.actors.green import sleep_ms
from mead.config import Settings
from mead.control.client import ControlClient
from mead.deck.deck import NO_DECK
from mead.deck.logins import Logins
from mead.errors import InvalidInput, StorageLocked
from mead.protocols import Listener
from mead.storage import lock
from mead.storage.session_store import FileStore

Value = TypeVar("Value")

_SOCKET_WAIT_S: Final = 5.0
"""A process that has just taken the lock opens its control socket within moments."""


def link(url: str, code: str) -> str:
    """The address to open.  `url`: how the server is reached."""
    return f"{url.rstrip('/')}/deck/#code={code}"


def configured(settings: Settings) -> Listener:
    """Where these settings have a server listen."""
    server = settings.mcp_server
    scheme = "http" if server.certfile is None else "https"
    return Listener(scheme, server.address, server.port)


def running(settings: Settings) -> Listener | None:
    """Where the server that holds the storage directory listens; None if there is none.

    It may have been started with other variables than those of this shell, which then name another
    port.  Blocks on: that server, bounded.
    """
    directory = settings.storage.directory
    client = None if directory is None else ControlClient.find(directory)
    return None if client is None else client.listener()


def base_url(settings: Settings) -> str:
    """How a browser on this machine reaches the server: the one that runs, or that will."""
    return (running(settings) or configured(settings)).url


def new_code(settings: Settings) -> str:
    """A login code, made by the server that runs, or for the one that will.

    Raises InvalidInput (no deck, no storage), StorageLocked, PersistenceError.
    """
    return _at_logins(settings, "deck_code", Logins.new_code)


def revoke(settings: Settings) -> int:
    """Let no access token in any more; how many there were.  Raises as `new_code`."""
    return _at_logins(settings, "deck_revoke", Logins.revoke)


def _at_logins(settings: Settings, call: str, change: Callable[[Logins], Value]) -> Value:
    """Through the control socket, else in the directory itself, whoever is there first."""
    directory = _directory(settings)
    give_up = time.monotonic() + _SOCKET_WAIT_S
    while True:
        client = ControlClient.find(directory)
        if client is not None:
            return client.call(call)
        try:
            with lock.acquire(directory), closing(FileStore(settings.storage)) as store:
                return change(Logins(store.logins_file()))
        except StorageLocked:
            if time.monotonic() > give_up:
                raise
        sleep_ms(100)


def _directory(settings: Settings) -> Path:
    if settings.deck.token is None:
        raise InvalidInput(NO_DECK)
    if settings.storage.directory is None:
        raise InvalidInput("codes are kept in storage.directory, and none is set")
    return settings.storage.directory
